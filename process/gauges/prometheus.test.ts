import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { labels } from '../../api/labels.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { createActivityWorld, nodeClaim, nodePool, type ActivityWorld } from '../../test/builders/activity-world.js';
import { capacityPanels, performancePanels, variables } from '../../test/builders/karpenter-panels.js';
import { installedPrometheus, startPrometheus, type Prometheus } from '../../test/builders/prometheus.js';
import { metricsText } from '../http.js';
import type { Metrics } from '../../core/telemetry.js';
import { createMetrics } from '../metrics.js';
import { registerGauges } from './register.js';

// A real Prometheus reads /metrics of a small cluster. What Karpenter's dashboards ask it gets an answer, and it takes our alerts.
const { prometheus: program } = installedPrometheus();
const suite = program === undefined ? describe.skip : describe;
const hint = program === undefined ? ' (skipped: run node tools/stack/install.mjs prometheus)' : '';

const own: Readonly<Record<string, string>> = {
  [labels.nodePool]: 'default',
  [labels.zone]: 'a',
  [labels.instanceType]: 'm5.xlarge',
  [labels.capacityType]: 'spot',
  [labels.arch]: 'amd64',
  [labels.os]: 'linux',
};

async function smallCluster(): Promise<ActivityWorld> {
  const world = await createActivityWorld();
  const providerID = 'fake:///a/i-1';
  const pool = nodePool('default', { limits: { cpu: '10', memory: '64Gi' } });
  world.kube.put('NodePool', { ...pool, status: { resources: { cpu: '4', memory: '16Gi' } } });
  const claim = nodeClaim('c1', { status: { providerID } });
  world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: own } });
  const resources = { cpu: '4', memory: '16Gi', pods: '58' };
  world.kube.put('Node', {
    metadata: { name: 'n1', labels: own },
    spec: { providerID },
    status: { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] },
  });
  for (const [name, kind] of [
    ['web', 'ReplicaSet'],
    ['agent', 'DaemonSet'],
  ] as const) {
    world.kube.put('Pod', {
      metadata: { name, namespace: 'shop', ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o' }] },
      spec: { nodeName: 'n1', containers: [{ name: 'app', resources: { requests: { cpu: '1', memory: '1Gi' } } }] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }
  await world.synced();
  return world;
}

/** Happens between two reads of /metrics, so that rates have something to count. */
function happenOn(metrics: Metrics): void {
  const nodepool = 'default';
  const disrupted = {
    reason: 'Drifted',
    nodepool,
    capacity_type: 'spot',
    consolidation_policy: '',
    termination_mode: '',
  };
  metrics.count('nodes_created_total', { nodepool, zone: 'a' });
  metrics.count('nodes_terminated_total', { nodepool, zone: 'a' });
  metrics.count('nodeclaims_disrupted_total', disrupted);
  metrics.count('voluntary_disruption_decisions_total', {
    decision: 'delete',
    reason: 'empty',
    consolidation_type: 'empty',
  });
  metrics.count('controller_runtime_reconcile_total', { controller: 'createFleet', result: 'success' });
  // The quantile 0 is a number where the lowest bucket has something.
  for (const seconds of [0.001, 0.3])
    metrics.observe('controller_runtime_reconcile_time_seconds', { controller: 'createFleet' }, seconds);
  metrics.observe('nodes_termination_duration_seconds', { nodepool }, 40);
  metrics.observe('pods_startup_duration_seconds', {}, 20);
}

suite(`in Prometheus${hint}`, () => {
  let world: ActivityWorld;
  let server: Server;
  let prometheus: Prometheus;

  beforeAll(async () => {
    world = await smallCluster();
    const metrics = createMetrics();
    const state = new Registry();
    registerGauges(state, world.deps, { objects: true });
    const registry = Registry.merge([metrics.registry, state]);
    server = createServer((_, response) => {
      happenOn(metrics);
      void metricsText({ registry }).then((text) => response.setHeader('content-type', registry.contentType).end(text));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    prometheus = await startPrometheus({
      program: program ?? '',
      job: 'karpenter',
      target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      rules: [resolve('deploy/alerts.yaml')],
    });
    await observe(
      'Prometheus having read /metrics three times',
      async () => ((await prometheus.query('sum(sum_over_time(up[5m]))'))[0]?.value ?? 0) >= 3,
      { withinMs: 60_000 },
    );
  });
  afterAll(async () => {
    await prometheus.stop();
    server.close();
    world.stop();
  });

  test.each([...capacityPanels, ...performancePanels].map(({ title, expr }) => [title, expr] as const))(
    `Karpenter's panel "%s" shows data`,
    async (_, expr) => {
      const samples = await prometheus.query(expr);
      expect(samples).not.toEqual([]);
      for (const { value } of samples) expect(value).not.toBeNaN();
    },
  );

  test.each(variables)("Karpenter's dashboards list the values of %s as %s", async (expr, label) => {
    const series = await prometheus.query(expr);
    expect(series.map(({ metric }) => metric[label])).toContain(
      label === 'controller' ? 'createFleet' : own[named[label]!],
    );
  });

  test('Prometheus evaluates every alert of deploy/alerts.yaml without an error', async () => {
    const rules = await observe(
      'Every rule evaluated',
      async () => {
        const found = await prometheus.rules();
        return found.length > 0 && found.every(({ health }) => health !== 'unknown') ? found : undefined;
      },
      { withinMs: 30_000 },
    );
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(rules.length).toBeGreaterThan(5);
  });

  test('Prometheus refuses an invalid expression', async () => {
    await expect(prometheus.query('sum by (')).rejects.toThrow(/parse error/);
  });
});

const named: Readonly<Record<string, string>> = {
  nodepool: labels.nodePool,
  zone: labels.zone,
  arch: labels.arch,
  capacity_type: labels.capacityType,
  instance_type: labels.instanceType,
};

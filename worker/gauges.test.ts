import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { registerGauges } from './gauges.js';

const initialized = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));

describe('gauges of the cluster (section 1.8)', () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
    const providerID = 'fake:///a/i-1';
    const own = {
      [labels.nodePool]: 'default',
      [labels.zone]: 'a',
      [labels.instanceType]: 'm5.xlarge',
      [labels.capacityType]: 'spot',
      [labels.arch]: 'amd64',
      [labels.os]: 'linux',
    };
    world.kube.put('NodePool', nodePool('default', { limits: { cpu: '10' } }));
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID, conditions: initialized } }));
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: own },
      spec: { providerID },
      status: {
        capacity: { cpu: '4' },
        allocatable: { cpu: '3900m' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    const pod = (name: string, owner: string, cpu: string): void =>
      void world.kube.put('Pod', {
        metadata: {
          name,
          namespace: 'default',
          ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'o' }],
        },
        spec: { nodeName: 'n1', containers: [{ name: 'app', resources: { requests: { cpu } } }] },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      });
    pod('web', 'ReplicaSet', '1500m');
    pod('agent', 'DaemonSet', '250m');
    await world.synced();
  });
  afterEach(() => world.stop());

  const scrape = async (objects: boolean): Promise<string[]> => {
    const registry = new Registry();
    registerGauges(registry, world.deps, { objects });
    return (await registry.metrics()).split('\n').filter((line) => line.startsWith('karpenter_'));
  };
  const node =
    'node_name="n1",nodepool="default",instance_type="m5.xlarge",zone="a",arch="amd64",os="linux",capacity_type="spot",phase="",managed="true"';

  test('say what nodes have, keep and give to pods', async () => {
    const lines = await scrape(true);

    expect(lines).toEqual(
      expect.arrayContaining([
        `karpenter_nodes_allocatable{${node},resource_type="cpu"} 3.9`,
        `karpenter_nodes_system_overhead{${node},resource_type="cpu"} 0.1`,
        `karpenter_nodes_total_pod_requests{${node},resource_type="cpu"} 1.5`,
        `karpenter_nodes_total_daemon_requests{${node},resource_type="cpu"} 0.25`,
        'karpenter_pods_state{name="web",namespace="default",owner="ReplicaSet/o",node="n1",scheduled="true",' +
          'nodepool="default",zone="a",arch="amd64",capacity_type="spot",instance_type="m5.xlarge",managed="true",' +
          'phase="Running",ready="true"} 1',
      ]),
    );
  });

  test('say what NodePools may use and disrupt; series for each object can be left out', async () => {
    const lines = await scrape(false);

    expect(lines).toEqual(
      expect.arrayContaining([
        'karpenter_nodepools_limit{nodepool="default",resource_type="cpu"} 10',
        'karpenter_nodepools_allowed_disruptions{nodepool="default",reason="Empty"} 1',
        'karpenter_cluster_state_node_count 1',
        'karpenter_cluster_state_synced 1',
      ]),
    );
    expect(lines.some((line) => line.includes('n1'))).toBe(false);
  });
});

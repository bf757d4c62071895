import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { observe } from '../../tools/stack/demo/observe.js';
import { freePorts } from '../../tools/stack/ports.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/port.js';
import { TemporalClusterIdentityStore } from '../../process/cluster-identity.js';
import { createDefaultPool, deploy, within } from '../live/world.js';
import { readiness, workerAnswers } from './answers.js';
import { large, sharedContainment } from './containment.js';

// Two installations with one cluster name in one Temporal namespace do not execute each other's workflows.

const on = sharedContainment(createDefaultPool);

const says = (text: string, ask = (): Promise<string> => readiness(on.world)): Promise<true> =>
  observe(`/readyz saying ${text}`, async () => (await ask()).includes(text), within(120), ask);

const answering = (expected: boolean): Promise<true> =>
  observe(
    expected ? 'A worker answering' : 'No worker answering',
    async () => (await workerAnswers(on.client, on.world)) === expected,
    within(60),
  );

const uidOf = async (kube: KubeClient): Promise<string> =>
  (await kube.get('Namespace', { name: 'kube-system' }))?.metadata.uid ?? '';

describe('two clusters installed under one cluster name', () => {
  let other: { readonly stack: Stack; readonly kube: ReturnType<typeof createKubeClient> };

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'stowage-namesake-'));
    const stack = await startStack({ folder, name: 'namesake', parts: ['controllers'] });
    other = { stack, kube: createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'namesake-test' }) };
  });
  afterAll(async () => {
    other.kube.close();
    await other.stack.stop();
    rmSync(other.stack.folder, { recursive: true, force: true });
  });

  /** Stowage of the other cluster, with the name, Temporal and cloud of the first. */
  async function namesake(): Promise<{ ready: () => Promise<string>; end: () => Promise<void> }> {
    const [health = 0, metrics = 0] = await freePorts(2);
    const ports = { HEALTH_PROBE_PORT: String(health), METRICS_PORT: String(metrics), LISTEN_ADDRESS: '127.0.0.1' };
    const env = { ...process.env, ...on.world.stack.environment, ...ports, KUBECONFIG: other.stack.stowageKubeconfig };
    const child = spawn(process.execPath, ['bin/stowage', 'run'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'exit');
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => void (said = `${said}${chunk.toString()}`.slice(-4000)));
    const state = (error: unknown): string =>
      child.exitCode === null ? String(error) : `Stowage ended with ${child.exitCode}: ${said}`;
    return {
      ready: () => fetch(`http://127.0.0.1:${health}/readyz`).then((answer) => answer.text()).catch(state), // prettier-ignore
      end: async () => {
        child.kill('SIGTERM');
        await ended;
      },
    };
  }

  test('the name belongs to the first cluster: Stowage of the second does nothing and says why, and the first goes on', async () => {
    const [first, second] = [await uidOf(on.world.kube), await uidOf(other.kube)];
    await createDefaultPool({ kube: other.kube, stack: other.stack });
    const { ready, end } = await namesake();
    try {
      await says(`its kube-system has UID ${first}, that of this cluster ${second}`, ready);
      await deploy(other, 'elsewhere', large);
      await deploy(on.world, 'here', large);

      // A worker of the other cluster would have planned, created and launched for its own pods.
      expect(await on.machinesOf(await on.claimUnder('here'))).toHaveLength(1);
      expect([await on.claims(), await on.world.cloud.instances()].map(({ length }) => length)).toEqual([1, 1]);
      expect(await other.kube.list('NodeClaim')).toEqual([]);
      await says(`its kube-system has UID ${first}, that of this cluster ${second}`, ready);
    } finally {
      await end();
    }
  });

  test('the first recorded UID is kept: a process of another cluster does nothing, and acts once the name is recorded for its cluster', async () => {
    const register = new TemporalClusterIdentityStore(on.client, on.cluster);
    const own = await uidOf(on.world.kube);
    expect(await register.read()).toBe(own);
    await register.record('another');
    expect(await register.read()).toBe(own);
    await answering(true);

    // Another cluster takes the name over while this one runs.
    await register.remove();
    await register.record('another');
    await says(`its kube-system has UID another, that of this cluster ${own}`);
    await answering(false);
    expect(await register.read()).toBe('another');

    await register.remove();
    await says('ok');
    await answering(true);
    expect(await register.read()).toBe(own);
  });
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../../devstack/stack.js';
import type { Stack } from '../../devstack/stack.js';
import { createClusterCache } from '../../kube/cache.js';
import { createKubeClient } from '../../kube/client.js';
import { resources } from '../../kube/kinds.js';
import type { Kind } from '../../kube/port.js';
import { kubeContract } from './kube-contract.js';

let stack: Stack;
const given = process.env.STOWAGE_TEST_STACK;
const folder = given ?? mkdtempSync(join(tmpdir(), 'stowage-kube-'));

beforeAll(async () => {
  stack = await startStack({ folder, parts: ['apiserver'] });
}, 120_000);
afterAll(async () => {
  if (given !== undefined) return;
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

kubeContract('a real API server', () => {
  const client = createKubeClient({ kubeconfig: stack.adminKubeconfig!, pageSize: 2 });
  return Promise.resolve({
    client,
    // No scheduler and no kubelet run here.
    run: async ({ namespace, name }, node) => {
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: node } };
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
      const kubectl = ['--kubeconfig', stack.adminKubeconfig!, 'create', '--raw', path, '-f', '-'];
      execFileSync(stack.kubectl!, kubectl, { input: JSON.stringify(binding) });
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      await client.patch('Pod', { namespace, name }, { status }, { subresource: 'status' });
    },
    stop: () => {
      client.close();
      return Promise.resolve();
    },
  });
});

describe('the cache on a real API server', () => {
  const kinds = (Object.keys(resources) as Kind[]).filter((kind) => kind !== 'Event');
  const optional: Kind[] = ['NodeOverlay', 'KWOKNodeClass', 'DisruptionPolicy', 'CapacityBuffer', 'EC2NodeClass'];

  test('lists and watches every kind with the rights of the shipped ClusterRole', async () => {
    const client = createKubeClient({ kubeconfig: stack.stowageKubeconfig! });
    const stop = new AbortController();
    const problems: string[] = [];
    const cache = createClusterCache({
      client,
      kinds,
      optional,
      onProblem: (kind, error) => problems.push(`${kind}: ${error.message}`),
    });
    await cache.start(AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)])).catch(() => undefined);
    expect({ problems, unsynced: cache.unsynced }).toEqual({ problems: [], unsynced: [] });
    stop.abort();
    client.close();
  }, 30_000);

  test('lives through a restart and a silence of the API server, and says so once each', async () => {
    const client = createKubeClient({
      kubeconfig: stack.adminKubeconfig!,
      requestTimeoutMs: 1500,
      watchIdleTimeoutMs: 1500,
    });
    const stop = new AbortController();
    const said: boolean[] = [];
    const cache = createClusterCache({
      client,
      kinds: ['Node', 'Lease'],
      retry: { base: 50, max: 200 },
      onConnectivity: ({ connected }) => said.push(connected),
    });
    const soon = (): AbortSignal => AbortSignal.timeout(40_000);
    await cache.start(stop.signal);
    const appears = async (name: string): Promise<void> => {
      const { object } = await client.create('Node', { metadata: { name } });
      await cache.caughtUp('Node', { name }, object.metadata.resourceVersion!, soon());
      expect(cache.get('Node', { name })?.metadata.uid).toBe(object.metadata.uid);
      await client.delete('Node', { name });
    };
    await appears('before');

    await stack.stopComponent('kube-apiserver', true);
    await changed(() => said.length === 1, soon());
    expect(said).toEqual([false]);
    await expect(client.list('Node')).rejects.toMatchObject({ type: 'Unavailable' });
    await stack.startComponent('kube-apiserver');
    await changed(() => said.length === 2, soon());
    await appears('after-restart');

    // A machine that is gone does not even refuse: only the silence tells.
    stack.freeze('kube-apiserver', true);
    await changed(() => said.length === 3, soon());
    expect(said).toEqual([false, true, false]);
    stack.freeze('kube-apiserver', false);
    await changed(() => said.length === 4, soon());
    await appears('after-silence');
    expect(said).toEqual([false, true, false, true]);
    stop.abort();
    client.close();
  }, 120_000);
});

/** Polls a condition that nothing announces. */
async function changed(condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition()) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../../tools/stack/stack.js';
import type { Stack } from '../../tools/stack/stack.js';
import { createClusterCache } from '../../kube/cache.js';
import { createKubeClient } from '../../kube/client.js';

// A stack of its own: its API server is killed and frozen.
const folder = mkdtempSync(join(tmpdir(), 'stowage-kube-outage-'));
let stack: Stack;
const stop = new AbortController();
beforeAll(async () => {
  stack = await startStack({ name: 'kube-outage', folder, parts: ['apiserver'] });
});
afterAll(async () => {
  stop.abort();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

// Rule `invariants/outages-harm-nothing`.
test('the cache survives a restart and a silence of the API server, and logs each once', async () => {
  const client = createKubeClient({
    kubeconfig: stack.adminKubeconfig!,
    requestTimeoutMs: 1500,
    watchIdleTimeoutMs: 1500,
  });
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

  // A machine that is gone does not even refuse connections: only the silence shows it.
  stack.freeze('kube-apiserver', true);
  await changed(() => said.length === 3, soon());
  expect(said).toEqual([false, true, false]);
  stack.freeze('kube-apiserver', false);
  await changed(() => said.length === 4, soon());
  await appears('after-silence');
  expect(said).toEqual([false, true, false, true]);
  client.close();
});

/** Polls a condition that nothing announces. */
async function changed(condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition()) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

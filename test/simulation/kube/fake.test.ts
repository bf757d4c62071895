import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../../../core/failures.js';
import { kubeContract } from '../../contracts/kube.js';
import { createFakeKube } from './fake.js';
import type { FakeKube } from './fake.js';

kubeContract('in memory', () => {
  const client: FakeKube = createFakeKube();
  return Promise.resolve({
    client,
    run: async (ref, nodeName) => {
      const pod = await client.get('Pod', ref);
      client.put('Pod', {
        ...pod!,
        spec: { ...pod!.spec, nodeName },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      });
    },
    stop: () => Promise.resolve(),
  });
});

describe('FakeKube beyond the contract of its port', () => {
  test('fails every call while an outage is set, and ends watches', async () => {
    const kube = createFakeKube();
    const signal = new AbortController().signal;
    const watching = kube.watch(
      'Lease',
      { resourceVersion: '0', signal, onOpen: () => kube.fail(new DomainError('Unavailable', 'down')) },
      () => undefined,
    );
    expect(await watching).toBe('ended');
    await expect(kube.list('Lease')).rejects.toMatchObject({ type: 'Unavailable' });
    await expect(kube.serverVersion()).rejects.toMatchObject({ type: 'Unavailable' });
    kube.fail(undefined);
    expect(await kube.list('Lease')).toEqual([]);
  });

  test('lists an absent kind as not found', async () => {
    const kube = createFakeKube({ absent: ['NodeOverlay'] });
    await expect(kube.get('NodeOverlay', { name: 'a' })).rejects.toMatchObject({ type: 'Unavailable' });
    await expect(kube.list('NodeOverlay')).rejects.toMatchObject({ type: 'NotFound' });
    kube.serve('NodeOverlay');
    expect(await kube.list('NodeOverlay')).toEqual([]);
  });

  test('expires a watch from a forgotten resource version', async () => {
    const kube = createFakeKube();
    const { object } = await kube.create('Node', { metadata: { name: 'a' } });
    kube.compact();
    const signal = new AbortController().signal;
    const resourceVersion = object.metadata.resourceVersion!;
    expect(await kube.watch('Node', { resourceVersion, signal }, () => undefined)).toBe('expired');
  });

  test('returns copies of its objects', async () => {
    const kube = createFakeKube();
    const { object } = await kube.create('Node', { metadata: { name: 'a', labels: { x: '1' } } });
    object.metadata.labels!.x = '2';
    expect((await kube.get('Node', { name: 'a' }))?.metadata.labels).toEqual({ x: '1' });
  });

  test('removes a terminating pod when its kubelet has stopped it, or at once where so configured', async () => {
    const kube = createFakeKube({ now: () => Date.parse('2026-01-01T00:00:00Z') });
    const ref = { namespace: 'default', name: 'a' };
    kube.put('Pod', { metadata: ref, spec: { nodeName: 'n', containers: [] } });
    await kube.delete('Pod', ref);
    expect((await kube.get('Pod', ref))?.metadata.deletionTimestamp).toBe('2026-01-01T00:00:30Z');
    kube.finishTermination(ref);
    expect(kube.objects('Pod')).toEqual([]);

    const instant = createFakeKube({ podsTerminate: 'at-once' });
    instant.put('Pod', { metadata: ref, spec: { nodeName: 'n', containers: [] } });
    await instant.delete('Pod', ref);
    expect(instant.objects('Pod')).toEqual([]);
  });
});

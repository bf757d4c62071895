import { describe, expect, test } from '@jest/globals';
import { silentLog, silentMetrics } from '../test/simulation/silent.js';
import { nodeClaims } from '../api/karpenter/node-claim.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { taints } from '../api/labels.js';
import { interruptionNoteOf } from '../cluster/interruption-note.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { interruptionHandler, mayConcernUs } from './interruptions.js';
import type { InterruptionNotice } from '../core/interruption-kinds.js';

const claim = (over: { deletionTimestamp?: string; providerID?: string } = {}): NodeClaim =>
  nodeClaims.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: 'default-1',
      ...(over.deletionTimestamp !== undefined && { deletionTimestamp: over.deletionTimestamp }),
    },
    spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    status: { providerID: over.providerID ?? 'aws:///us-west-2a/i-1' },
  });
const going = claim({ deletionTimestamp: '2026-01-01T00:00:00Z' });

const cacheOf = (
  claims: readonly NodeClaim[],
  over: { synced?: boolean; connected?: boolean; isFresh?: () => Promise<boolean>; node?: Node } = {},
): Parameters<typeof interruptionHandler>[0]['cache'] => ({
  synced: true,
  connected: true,
  isFresh: () => Promise.resolve(true),
  nodeByProviderId: (id) => (id === '' ? undefined : over.node),
  get: () => undefined,
  ...over,
  all: () => claims,
});

describe('mayConcernUs: notices that need a look', () => {
  const ended = { kind: 'instance_terminated', instanceId: 'i-1' } as const;
  const warned = { kind: 'spot_interrupted', instanceId: 'i-1' } as const;

  test('an instance that ended although its claim is not deleted does', () => {
    expect(mayConcernUs(ended, cacheOf([claim()]))).toBe(true);
  });

  test('an instance that ended because its claim is deleted or gone does not', () => {
    expect(mayConcernUs(ended, cacheOf([going]))).toBe(false);
    expect(mayConcernUs(ended, cacheOf([]))).toBe(false);
    expect(mayConcernUs({ ...ended, kind: 'instance_stopped' }, cacheOf([]))).toBe(false);
  });

  test('a warning about an instance of a claim does, though the claim is being deleted', () => {
    expect(mayConcernUs(warned, cacheOf([claim()]))).toBe(true);
    expect(mayConcernUs(warned, cacheOf([going]))).toBe(true);
  });

  test('a warning about an instance of no claim does not', () => {
    expect(mayConcernUs(warned, cacheOf([]))).toBe(false);
    expect(mayConcernUs({ ...warned, instanceId: 'i-11' }, cacheOf([claim()]))).toBe(false);
  });

  test('a warning does while a claim has no instance yet or the cache may be behind', () => {
    expect(mayConcernUs(warned, cacheOf([claim({ providerID: '' })]))).toBe(true);
    expect(mayConcernUs(warned, cacheOf([], { connected: false }))).toBe(true);
    expect(mayConcernUs(warned, cacheOf([], { synced: false }))).toBe(true);
  });
});

describe('an interruption notice about an instance that no claim in the cache names', () => {
  const handled = async (cache: ReturnType<typeof cacheOf>, kind = 'spot_interrupted'): Promise<string[]> => {
    const started: string[] = [];
    const handle = interruptionHandler({
      cache,
      kube: createFakeKube(),
      starter: { interruption: ({ instanceId }) => Promise.resolve(void started.push(instanceId)) },
      metrics: silentMetrics,
      log: silentLog,
      now: () => 60_000,
    });
    await handle({ kind: kind as 'spot_interrupted', instanceId: 'i-1', at: 50_000, messageId: 'm' });
    return started;
  };

  test.each(['spot_interrupted', 'instance_terminated'])('is dropped (%s) where the cache is fresh', async (kind) => {
    const asked: unknown[] = [];
    const isFresh = (...since: unknown[]): Promise<boolean> => Promise.resolve(asked.push(...since) > 0);

    expect(await handled(cacheOf([], { isFresh }), kind)).toEqual([]);

    expect(asked).toEqual(['NodeClaim', 55_000]);
  });

  test.each(['spot_interrupted', 'instance_terminated'])('starts a workflow (%s) where it is not', async (kind) => {
    expect(await handled(cacheOf([], { isFresh: () => Promise.resolve(false) }), kind)).toEqual(['i-1']);
  });

  test('starts a workflow where its claim appears meanwhile', async () => {
    const cache = cacheOf([]);
    const isFresh = (): Promise<boolean> => {
      Object.assign(cache, { all: () => [claim()] });
      return Promise.resolve(true);
    };

    expect(await handled(Object.assign(cache, { isFresh }))).toEqual(['i-1']);
  });

  test('is dropped without asking for freshness where Stowage terminated the instance', async () => {
    const isFresh = (): Promise<boolean> => Promise.reject(new Error('asked'));

    expect(await handled(cacheOf([going], { isFresh }), 'instance_terminated')).toEqual([]);
  });
});

// Rule `interruption/recorded-first`.
describe("an interruption notice about a claim's instance", () => {
  const at = 50_000;
  const handlerOf = (kube: FakeKube, of = claim()) => {
    const node = kube.put('Node', {
      metadata: { name: 'node-1' },
      spec: { providerID: 'aws:///us-west-2a/i-1', taints: [{ key: 'own', effect: 'NoSchedule' }] },
    });
    const started: string[] = [];
    const handle = interruptionHandler({
      cache: cacheOf([kube.put('NodeClaim', of)], { node }),
      kube,
      starter: { interruption: (notice) => Promise.resolve(void started.push(notice.kind)) },
      metrics: silentMetrics,
      log: silentLog,
      now: () => 60_000,
    });
    return { handle, started };
  };
  const stateOf = (kube: FakeKube) => ({
    note: interruptionNoteOf(kube.objects('NodeClaim')[0]!),
    taints: kube.objects('Node')[0]?.spec?.taints?.map(({ key }) => key),
  });
  const handled = async (kind: InterruptionNotice['kind'], kube: FakeKube, of = claim()) => {
    const { handle, started } = handlerOf(kube, of);
    await handle({ kind, instanceId: 'i-1', at, messageId: 'm' });
    expect(started).toEqual([kind]);
    return stateOf(kube);
  };
  const noted = { note: { kind: 'spot_interrupted', at }, taints: ['own', taints.disrupted.key] };

  test('is written on the claim, and as a taint on the node, before its message is deleted', async () => {
    expect(await handled('spot_interrupted', createFakeKube())).toEqual(noted);
  });

  test('is written on newer versions of claim and node than the cache has', async () => {
    const kube = createFakeKube();
    const patch = kube.patch.bind(kube);
    let first = true;
    Object.assign(kube, {
      patch: async (...args: Parameters<typeof patch>) => {
        const newer = { metadata: { labels: { newer: 'yes' } } };
        if (first) await patch('NodeClaim', { name: 'default-1' }, newer);
        if (first) await patch('Node', { name: 'node-1' }, newer);
        first = false;
        return patch(...args);
      },
    });

    expect(await handled('spot_interrupted', kube)).toEqual(noted);

    for (const kind of ['Node', 'NodeClaim'] as const)
      expect(kube.objects(kind)[0]?.metadata.labels).toMatchObject({ newer: 'yes' });
  });

  test.each([
    ['that only recommends', 'rebalance_recommendation', claim()],
    ['that comes again for as long as it is so', 'instance_status', claim()],
    ['whose claim is going', 'spot_interrupted', going],
  ] as const)('%s changes neither claim nor node', async (_which, kind, of) => {
    expect(await handled(kind, createFakeKube(), of)).toEqual({ note: undefined, taints: ['own'] });
  });

  test('starts its workflow although it cannot be written, and its message is kept until it is written', async () => {
    const kube = createFakeKube();
    const patch = kube.patch.bind(kube);
    const { handle, started } = handlerOf(kube);
    Object.assign(kube, { patch: () => Promise.reject(new Error('connection refused')) });
    const notice = { kind: 'spot_interrupted', instanceId: 'i-1', at, messageId: 'm' } as const;

    await expect(handle(notice)).rejects.toThrow(
      'cannot record the spot_interrupted of i-1 on its NodeClaim and Node: connection refused',
    );
    expect(started).toEqual(['spot_interrupted']);

    Object.assign(kube, { patch });
    await handle(notice);
    expect(stateOf(kube)).toEqual(noted);
  });
});

test('a failed status check counts once while it lasts, and not as a message of the queue', async () => {
  const counted: unknown[] = [];
  const handle = interruptionHandler({
    cache: cacheOf([claim()]),
    kube: createFakeKube(),
    starter: { interruption: () => Promise.resolve() },
    metrics: { ...silentMetrics, count: (...call) => void counted.push(call) },
    log: silentLog,
    now: () => 0,
  });
  const fault = { kind: 'system_status', instanceId: 'i-1', at: 0, messageId: 'system_status/i-1/0' } as const;

  await handle(fault);
  await handle(fault);
  await handle({ ...fault, instanceId: 'i-of-others', messageId: 'system_status/i-of-others/0' });
  expect(counted).toEqual([['interruption_instance_status_unhealthy_total', { category: 'SystemStatus' }]]);

  await handle({ ...fault, messageId: 'system_status/i-1/3600' });
  expect(counted).toHaveLength(2);

  await handle({ kind: 'spot_interrupted', instanceId: 'i-1', at: 0, messageId: 'm' });
  expect(counted.slice(2)).toEqual([
    ['interruption_received_messages_total', { message_type: 'spot_interrupted' }],
    ['interruption_deleted_messages_total', {}],
  ]);
});

import { describe, expect, test } from '@jest/globals';
import { silentLog, silentMetrics } from '../simulation/silent.js';
import { nodeClaims } from '../api/karpenter/node-claim.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { interruptionHandler, isNews } from './interruptions.js';

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
  over: { synced?: boolean; connected?: boolean; isFresh?: () => Promise<boolean> } = {},
): Parameters<typeof interruptionHandler>[0]['cache'] => ({
  synced: true,
  connected: true,
  isFresh: () => Promise.resolve(true),
  ...over,
  all: () => claims,
});

describe('isNews', () => {
  const ended = { kind: 'instance_terminated', instanceId: 'i-1' } as const;
  const warned = { kind: 'spot_interrupted', instanceId: 'i-1' } as const;

  test('an instance that ended although its claim is to stay is news', () => {
    expect(isNews(ended, cacheOf([claim()]))).toBe(true);
  });

  test('an instance that ended because its claim is going, or whose claim is gone, is none', () => {
    expect(isNews(ended, cacheOf([going]))).toBe(false);
    expect(isNews(ended, cacheOf([]))).toBe(false);
    expect(isNews({ ...ended, kind: 'instance_stopped' }, cacheOf([]))).toBe(false);
  });

  test('a warning of an instance that a claim has is news, also when the claim is going', () => {
    expect(isNews(warned, cacheOf([claim()]))).toBe(true);
    expect(isNews(warned, cacheOf([going]))).toBe(true);
  });

  test("a warning of an instance of no claim is somebody else's", () => {
    expect(isNews(warned, cacheOf([]))).toBe(false);
    expect(isNews({ ...warned, instanceId: 'i-11' }, cacheOf([claim()]))).toBe(false);
  });

  test('while that is not sure, a warning is news: a claim has no instance yet, or the cache may be behind', () => {
    expect(isNews(warned, cacheOf([claim({ providerID: '' })]))).toBe(true);
    expect(isNews(warned, cacheOf([], { connected: false }))).toBe(true);
    expect(isNews(warned, cacheOf([], { synced: false }))).toBe(true);
  });
});

describe('a notice of an instance that no claim in the cache has', () => {
  const handled = async (cache: ReturnType<typeof cacheOf>, kind = 'spot_interrupted'): Promise<string[]> => {
    const started: string[] = [];
    const handle = interruptionHandler({
      cache,
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

  test.each(['spot_interrupted', 'instance_terminated'])('is looked into (%s) where it is not', async (kind) => {
    expect(await handled(cacheOf([], { isFresh: () => Promise.resolve(false) }), kind)).toEqual(['i-1']);
  });

  test('is looked into where the claim comes meanwhile', async () => {
    const cache = cacheOf([]);
    const isFresh = (): Promise<boolean> => {
      Object.assign(cache, { all: () => [claim()] });
      return Promise.resolve(true);
    };

    expect(await handled(Object.assign(cache, { isFresh }))).toEqual(['i-1']);
  });

  test('an echo of an end that Stowage made needs no question', async () => {
    const isFresh = (): Promise<boolean> => Promise.reject(new Error('asked'));

    expect(await handled(cacheOf([going], { isFresh }), 'instance_terminated')).toEqual([]);
  });
});

test('a failed status check counts as such, a notice of the queue does not', async () => {
  const counted: unknown[] = [];
  const handle = interruptionHandler({
    cache: cacheOf([]),
    starter: { interruption: () => Promise.resolve() },
    metrics: { ...silentMetrics, count: (...call) => void counted.push(call) },
    log: silentLog,
    now: () => 0,
  });
  for (const kind of ['spot_interrupted', 'system_status'] as const) {
    await handle({ kind, instanceId: 'i-1', at: 0, messageId: kind });
  }

  expect(counted).toContainEqual(['interruption_received_messages_total', { message_type: 'spot_interrupted' }]);
  expect(counted.filter((call) => JSON.stringify(call).includes('unhealthy'))).toEqual([
    ['interruption_instance_status_unhealthy_total', { category: 'system_status' }],
  ]);
});

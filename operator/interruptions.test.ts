import { describe, expect, test } from '@jest/globals';
import { silentLog, silentMetrics } from '../activities/silent.js';
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
  over: { synced?: boolean; connected?: boolean } = {},
): Parameters<typeof isNews>[1] => ({ synced: true, connected: true, ...over, all: () => claims });

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

import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { registerProcessGauges } from './process.js';
import type { ProcessState } from './process.js';

const seriesOf = async (given: Partial<ProcessState>): Promise<string[]> => {
  const registry = new Registry();
  registerProcessGauges(registry, {
    role: 'operator',
    identity: 'me',
    progress: { leader: 'me', temporal: true },
    cache: { connected: true, freshAt: 40_000 },
    now: () => 100_000,
    ...given,
  });
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

test('an operator has metrics for leading, connections and the age of its cache (metrics/process)', async () => {
  expect(await seriesOf({})).toEqual([
    'stowage_connected{to="temporal"} 1',
    'stowage_connected{to="api-server"} 1',
    'stowage_cache_age_seconds 60',
    'stowage_leader 1',
  ]);
});

test('an operator on standby without connections has leader 0 and connected 0, and no cache age before its first list', async () => {
  const cache = { connected: false, freshAt: undefined };
  expect(await seriesOf({ progress: { leader: 'other', temporal: false }, cache })).toEqual([
    'stowage_connected{to="temporal"} 0',
    'stowage_connected{to="api-server"} 0',
    'stowage_leader 0',
  ]);
});

test('a worker has no leader metric', async () => {
  expect((await seriesOf({ role: 'worker' })).join()).not.toContain('stowage_leader');
});

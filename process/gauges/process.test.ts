import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { type ProcessState, registerPackingGauges, registerProcessGauges } from './process.js';
import type { JobView } from '../../worker/job-thread.js';

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

test('packing jobs are counted, with the age of the oldest, and are gone when they are done', async () => {
  const registry = new Registry();
  let jobs: JobView[] = [
    { job: 'reconsider', state: 'running', ageMs: 500 },
    { job: 'consolidate', state: 'waiting', ageMs: 61_000 },
    { job: 'consolidate', state: 'waiting', ageMs: 2000 },
  ];
  registerPackingGauges(registry, () => jobs);

  const text = await registry.metrics();
  expect(text).toContain('stowage_packing_jobs{job="consolidate",state="waiting"} 2');
  expect(text).toContain('stowage_packing_oldest_job_seconds{job="consolidate",state="waiting"} 61');
  expect(text).toContain('stowage_packing_oldest_job_seconds{job="reconsider",state="running"} 0.5');

  jobs = [];
  expect(await registry.metrics()).not.toContain('{job=');
});

import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import type { JobView } from '../../worker/job-thread.js';
import { registerPackingGauges } from './packing.js';

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

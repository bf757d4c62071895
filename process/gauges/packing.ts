import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { JobView } from '../../worker/job-thread.js';

const states = ['waiting', 'running'] as const;

/** Jobs of packing threads, computed at each scrape. */
export function registerPackingGauges(registry: Registry, jobs: () => readonly JobView[]): void {
  registry.registerMetric(
    gauge('stowage_packing_jobs', 'Jobs for packing threads, by what they are and whether they have begun.', (own) => {
      for (const { job, state } of jobs()) own.inc({ job, state });
    }),
  );
  registry.registerMetric(
    gauge('stowage_packing_oldest_job_seconds', 'How long the oldest job has waited, or has run.', (own) => {
      for (const { job, state, age } of oldest(jobs())) own.set({ job, state }, age);
    }),
  );
}

function gauge(name: string, help: string, collect: (own: Gauge) => void): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: ['job', 'state'],
    registers: [],
    collect() {
      this.reset();
      collect(this);
    },
  });
}

function oldest(jobs: readonly JobView[]): readonly { job: string; state: string; age: number }[] {
  return states.flatMap((state) => {
    const own = jobs.filter((each) => each.state === state);
    const kinds = [...new Set(own.map(({ job }) => job))];
    return kinds.map((job) => ({
      job,
      state,
      age: Math.max(...own.filter((each) => each.job === job).map(({ ageMs }) => ageMs)) / 1000,
    }));
  });
}

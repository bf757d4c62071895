import { Gauge, type Registry } from 'prom-client';
import type { ClusterCache } from '../../kube/port.js';
import type { ProcessProgress, Role } from '../probes.js';
import type { JobView } from '../../worker/job-thread.js';

const states = ['waiting', 'running'] as const;

/** Jobs of packing threads, computed at each scrape. */
export function registerPackingGauges(registry: Registry, jobs: () => readonly JobView[]): void {
  registry.registerMetric(
    packingGauge(
      'stowage_packing_jobs',
      'Jobs for packing threads, by what they are and whether they have begun.',
      (own) => {
        for (const { job, state } of jobs()) own.inc({ job, state });
      },
    ),
  );
  registry.registerMetric(
    packingGauge('stowage_packing_oldest_job_seconds', 'How long the oldest job has waited, or has run.', (own) => {
      for (const { job, state, age } of oldest(jobs())) own.set({ job, state }, age);
    }),
  );
}

function packingGauge(name: string, help: string, collect: (own: Gauge) => void): Gauge {
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

/** The state of a process for its gauges, read at each scrape. */
export interface ProcessState {
  readonly role: Role;
  readonly identity: string;
  readonly progress: Pick<ProcessProgress, 'leader' | 'temporal'>;
  readonly cache: Pick<ClusterCache, 'connected' | 'freshAt'>;
  readonly now: () => number;
}

/** Leadership and connections of the process, and the age of its cache (metrics/process). */
export function registerProcessGauges(registry: Registry, state: ProcessState): void {
  const { progress, cache } = state;
  gauge(registry, 'stowage_connected', 'Whether the process reaches what it needs.', ['to'], (set) => {
    set({ to: 'temporal' }, Number(progress.temporal));
    set({ to: 'api-server' }, Number(cache.connected));
  });
  const age =
    'How long ago the cache was last known to have all that the API server has, of the kind that is furthest behind.';
  gauge(registry, 'stowage_cache_age_seconds', age, [], (set) => {
    const { freshAt } = cache;
    if (freshAt !== undefined) set({}, Math.max(0, (state.now() - freshAt) / 1000));
  });
  if (state.role === 'worker') return;
  gauge(registry, 'stowage_leader', 'Whether this operator leads.', [], (set) =>
    set({}, Number(progress.leader === state.identity)),
  );
}

type Set = (labels: Readonly<Record<string, string>>, value: number) => void;

function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: (set: Set) => void,
): void {
  const made: Gauge = new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect: () => {
      made.reset();
      // If nothing is known there is no series; prom-client would report 0.
      if (labelNames.length === 0) made.remove();
      read((labels, value) => made.set({ ...labels }, value));
    },
  });
}

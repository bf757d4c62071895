import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { ClusterCache } from '../../kube/port.js';
import type { ProcessProgress, Role } from '../probes.js';

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

import type { Labels, Scrape } from './scrape.js';

export type Sample = readonly [labels: Labels, value: number];

/** One metric of the cluster's state, computed at each scrape. */
export interface Family {
  /** Without the prefix `karpenter_`, which is added except to names that begin with `operator_`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (scrape: Scrape) => Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** CPU in cores, as usual in Prometheus; other resources in their base unit. */
export function inBaseUnits(resource: string, amount: number): number {
  return resource === 'cpu' ? amount / 1000 : amount;
}

/** Seconds from a time of the API server until `now`, at least 0; 0 if there is none. */
export function secondsSince(at: string | undefined, now: number): number {
  return Math.max(0, (now - Date.parse(at ?? '')) / 1000) || 0;
}

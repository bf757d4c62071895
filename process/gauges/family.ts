import type { Labels, Scrape } from './scrape.js';

export type Sample = readonly [labels: Labels, value: number];

/** One metric of the cluster's state, read anew at each scrape. */
export interface Family {
  /** Without the `karpenter_` prefix, which those that begin with `operator_` do not have. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (scrape: Scrape) => Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** CPU in cores, as Prometheus has it; everything else in its base unit. */
export function inBaseUnits(resource: string, amount: number): number {
  return resource === 'cpu' ? amount / 1000 : amount;
}

/** Seconds from a time of the API server until `now`, never below 0; 0 when it has none. */
export function secondsSince(at: string | undefined, now: number): number {
  return Math.max(0, (now - Date.parse(at ?? '')) / 1000) || 0;
}

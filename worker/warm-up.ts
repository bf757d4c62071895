import { mixedCluster, crowd, leftovers } from './made-up-clusters.js';
import { jobs } from './packing-jobs.js';

/** After so many rounds most of what every pass runs is compiled. */
const rounds = { plan: 8, consolidate: 8 } as const;

/** What a packing thread is there for. */
export type Duty = keyof typeof rounds;

/**
 * Solves small made-up clusters again and again, one a turn, so that the first real pass finds the code compiled. The clusters
 * are made anew each time, as their catalogues are looked through but once.
 */
export function* warmUp(duty: Duty): Generator {
  for (let n = 0; n < rounds[duty]; n++) {
    if (duty === 'plan') {
      yield jobs.plan(crowd());
      yield jobs.plan(mixedCluster());
    } else yield jobs.consolidate(leftovers());
  }
}

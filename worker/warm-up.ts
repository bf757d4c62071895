import { mixedCluster, crowd, leftovers } from './made-up-clusters.js';
import { jobs } from './packing-jobs.js';

/** Where further rounds cost more than they save: a first real pass takes some 50 ms longer than after eight rounds, which took 6 s of a processor. */
const rounds = { plan: 3, consolidate: 2 } as const;

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

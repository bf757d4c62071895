import { mixedCluster, crowd, leftovers } from './made-up-clusters.js';
import { jobs } from './packing-jobs.js';

/**
 * More rounds cost more than they save: a first real pass takes some 50 ms longer than after eight rounds, which took 6
 * s of processor time.
 */
const rounds = { plan: 3, consolidate: 2 } as const;

/** The duty of a packing thread. */
export type Duty = keyof typeof rounds;

/**
 * Solves small synthetic clusters repeatedly, one per turn, so that the code is compiled before the first real pass.
 * The clusters are created again each time, because results are cached by catalogue.
 */
export function* warmUp(duty: Duty): Generator {
  for (let n = 0; n < rounds[duty]; n++) {
    if (duty === 'plan') {
      yield jobs.plan(crowd());
      yield jobs.plan(mixedCluster());
    } else yield jobs.consolidate(leftovers());
  }
}

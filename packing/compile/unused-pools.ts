import type { Toleration } from '../../api/kubernetes.js';
import type { Pool } from './pools.js';
import type { Level } from './relaxation-levels.js';
import { untolerated } from '../../core/tolerations.js';

/** Offerings of all NodePools together that are few enough to keep for whoever may come. */
const mostOfferings = 100_000;

/**
 * NodePools that no pod of the pass tolerates on any level, where all NodePools together offer more than `most`: what these offer need not be
 * looked at. Clusters with a tainted NodePool for each of hundreds of teams have many. Beside pods that have passes of their own it is none:
 * the NodePools may be theirs.
 */
export function unusedPools(
  pools: readonly Pool[],
  levelsByShape: readonly (readonly Level[])[],
  most = mostOfferings,
): ReadonlySet<Pool> {
  let offered = 0;
  for (const { types } of pools) for (const { offerings } of types) offered += offerings.length;
  if (offered <= most) return new Set();
  const unused = new Set(pools.filter(({ taints }) => taints.length > 0));
  for (const { tolerations, avoidsPreferred } of differing(levelsByShape)) {
    for (const pool of unused) {
      if (untolerated(pool.taints, tolerations, avoidsPreferred) === undefined) unused.delete(pool);
    }
  }
  return unused;
}

interface Tolerance {
  readonly tolerations: readonly Toleration[];
  readonly avoidsPreferred: boolean;
}

/** Few kinds of pods differ in what they tolerate, and the levels of one kind share it. */
function differing(levelsByShape: readonly (readonly Level[])[]): Iterable<Tolerance> {
  const found = new Map<string, Tolerance>();
  for (const levels of levelsByShape) {
    let last: Tolerance | undefined;
    for (const { tolerations, avoidsPreferred } of levels) {
      if (last?.tolerations === tolerations && last.avoidsPreferred === avoidsPreferred) continue;
      last = { tolerations, avoidsPreferred };
      found.set(`${JSON.stringify(tolerations)}${avoidsPreferred}`, last);
    }
  }
  return found.values();
}

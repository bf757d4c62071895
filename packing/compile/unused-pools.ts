import type { Toleration } from '../../api/kubernetes.js';
import type { Pool } from './pools.js';
import type { Level } from './relaxation-levels.js';
import { clashingKey } from '../requirements/requirements.js';
import { untolerated } from '../../core/taints.js';

/** Up to this number of offerings in all NodePools, unused pools are not skipped. */
const mostOfferings = 100_000;

/**
 * NodePools that no pod of the pass may use on any level, by their taints or the pods' node requirements, if all
 * NodePools together have more than `most` offerings. Their offerings are skipped: clusters with a NodePool for each of
 * hundreds of teams have many. Empty if some pods are left for separate passes, which may use the NodePools.
 */
export function unusedPools(
  pools: readonly Pool[],
  levelsByShape: readonly (readonly Level[])[],
  most = mostOfferings,
): ReadonlySet<Pool> {
  let offered = 0;
  for (const { types } of pools) for (const { offerings } of types) offered += offerings.length;
  if (offered <= most) return new Set();
  const unused = new Set(pools);
  for (const { tolerations, avoidsPreferred, constraints } of differing(levelsByShape)) {
    for (const pool of unused) {
      const isAllowed = untolerated(pool.taints, tolerations, avoidsPreferred) === undefined;
      if (isAllowed && constraints.some((each) => clashingKey(each.requirements, pool.requirements) === undefined)) {
        unused.delete(pool);
      }
    }
  }
  return unused;
}

type Demand = Pick<Level, 'tolerations' | 'avoidsPreferred' | 'constraints'>;

/**
 * Few combinations of tolerations and node requirements differ between pods; levels of one class mostly share theirs.
 */
function differing(levelsByShape: readonly (readonly Level[])[]): Iterable<Demand> {
  const found = new Map<string, Demand>();
  const texts = new Map<readonly Toleration[], string>();
  for (const level of levelsByShape.flat()) {
    const { tolerations, avoidsPreferred, constraints } = level;
    let text = texts.get(tolerations);
    if (text === undefined) texts.set(tolerations, (text = JSON.stringify(tolerations)));
    found.set(`${text}${avoidsPreferred}${constraints.map(({ index }) => index).join()}`, level);
  }
  return found.values();
}

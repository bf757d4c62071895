import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { compareText } from '../../core/text.js';
import { selects } from '../../core/labels.js';
import { nameOf } from '../../core/names.js';

/**
 * The policy that applies to a pool: of those that select it the one with the highest weight; of equal weights the
 * first by name. Often none.
 */
export function policyOf(
  pool: Pick<NodePool, 'metadata'> | undefined,
  policies: readonly DisruptionPolicy[],
): DisruptionPolicy | undefined {
  if (pool === undefined) return undefined;
  return policies
    .filter(({ spec }) => spec.nodePoolSelector === undefined || selects(spec.nodePoolSelector, pool.metadata.labels))
    .sort((a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || compareText(nameOf(a), nameOf(b)))[0];
}

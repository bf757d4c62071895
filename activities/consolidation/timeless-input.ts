import { annotations, labels } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { consolidatableAt, settlesAt } from '../../disruption/consolidation/consolidatable.js';
import type { ConsolidationInput } from '../../disruption/consolidation/types.js';
import { nameOf } from '../../core/names.js';

/**
 * Whether nothing in the input begins, ends or becomes due after the input's own time: a search then has the same result
 * at any later time.
 */
export function isTimeless({ objects, settings, now, consolidatableBy = now }: ConsolidationInput): boolean {
  const by = Math.min(now, consolidatableBy);
  const pools = new Map(objects.nodePools.map((pool) => [nameOf(pool), pool]));
  return (
    objects.nodePools.every(isPoolTimeless) &&
    (objects.disruptionPolicies ?? []).every(isPolicyTimeless) &&
    (settings.commitments ?? []).every(({ until }) => until === undefined) &&
    (objects.nodeClaims ?? []).every((claim) => {
      const view = {
        claim,
        node: undefined,
        pool: pools.get(claim.metadata.labels?.[labels.nodePool] ?? ''),
        pods: [],
        pricePerHour: 0,
      };
      return [consolidatableAt(view), settlesAt(view)].every((at) => at <= by || !Number.isFinite(at));
    }) &&
    objects.pods.every((pod) => !Number.isFinite(doNotDisruptUntil(pod, now)))
  );
}

/** Budgets with a schedule open and close, and a NodePool whose NodeClaims were refused is excluded for a while. */
const isPoolTimeless = ({ metadata, spec }: NodePool): boolean =>
  metadata.annotations?.[annotations.refusals] === undefined &&
  spec.disruption.budgets.every(({ schedule }) => schedule === undefined);

const isPolicyTimeless = ({ spec }: DisruptionPolicy): boolean =>
  (spec.maintenanceWindows ?? []).length === 0 && (spec.rates ?? []).length === 0;

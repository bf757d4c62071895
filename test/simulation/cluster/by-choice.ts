import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { conditionOf, isTrue } from '../../../core/conditions.js';
import { budgetReasons } from '../../../api/disruption-reasons.js';

const voluntary: ReadonlySet<string | undefined> = new Set<string>(budgetReasons);

/** The reason for which a node is disrupted, also an involuntary one. */
export const reasonOf = ({ status }: NodeClaim): string | undefined =>
  conditionOf(status?.conditions, 'DisruptionReason')?.reason;

/** Whether budgets count it; one whose instance is being terminated counts no more (budgets/counted-nodes). */
export const isDisruptedByChoice = (claim: NodeClaim): boolean => {
  const { conditions } = claim.status ?? {};
  if (isTrue(conditions, 'InstanceTerminating') || !isTrue(conditions, 'DisruptionReason')) return false;
  return voluntary.has(reasonOf(claim));
};

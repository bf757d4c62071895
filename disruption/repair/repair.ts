import type { Node } from '../../api/kubernetes.js';
import type { RepairPolicy } from '../../core/conditions.js';

/** Why a node is to be repaired. */
export interface Unhealthy {
  readonly type: string;
  readonly status: string;
  /** Since when, milliseconds of the epoch. */
  readonly since: number;
  /** When the toleration duration ends, milliseconds of the epoch. */
  readonly dueAt: number;
}

/** The condition whose toleration ends first (repair/earliest-rules); undefined if no policy matches the node. */
export function unhealthyCondition(
  node: Pick<Node, 'status'> | undefined,
  policies: readonly RepairPolicy[],
): Unhealthy | undefined {
  let first: Unhealthy | undefined;
  for (const { conditionType, conditionStatus, tolerationMs } of policies) {
    const found = node?.status?.conditions?.find(
      ({ type, status }) => type === conditionType && status === conditionStatus,
    );
    if (found === undefined) continue;
    const since = Date.parse(found.lastTransitionTime ?? '');
    const dueAt = since + tolerationMs;
    if (Number.isNaN(dueAt) || (first !== undefined && first.dueAt <= dueAt)) continue;
    first = { type: conditionType, status: conditionStatus, since, dueAt };
  }
  return first;
}

/**
 * How long a condition lasts before `repairNode` is started: a joining node is not Ready for moments. Shorter
 * tolerations are kept.
 */
const lastsMs = 60_000;

/** Time until `repairNode` is to be started, milliseconds; it is due at 0 or less. */
export function repairStartsIn({ since, dueAt }: Unhealthy, now: number): number {
  return Math.min(since + lastsMs, dueAt) - now;
}

/** The value of annotation stowage.dev/repair-declined: `Ready=False: rejected by ann`. */
export const declinedText = (condition: string, why: string): string => `${condition}: ${why}`;

/**
 * Like `unhealthyCondition`, without the condition whose repair a user declined (repair/declined), whatever its status.
 */
export function conditionToRepair(
  node: Pick<Node, 'status'> | undefined,
  policies: readonly RepairPolicy[],
  declined: string | undefined,
): Unhealthy | undefined {
  const asked = policies.filter(({ conditionType }) => declined?.startsWith(`${conditionType}=`) !== true);
  return unhealthyCondition(node, asked);
}

/**
 * Why no node of `group` may be repaired, in words (repair/at-most-a-fifth): more nodes than the percentage, rounded up, match a
 * policy, even if only for a moment. What makes many nodes unhealthy at once is not repaired by replacing them.
 */
export function tooManyUnhealthy(
  group: readonly Pick<Node, 'status'>[],
  policies: readonly RepairPolicy[],
  maximumPercent: number,
): string | undefined {
  const unhealthy = group.filter((node) => unhealthyCondition(node, policies) !== undefined).length;
  const allowed = Math.ceil((maximumPercent * group.length) / 100);
  if (unhealthy <= allowed) return undefined;
  return `${unhealthy} of ${group.length} nodes are unhealthy, and at most ${allowed} (${maximumPercent}%) may be`;
}

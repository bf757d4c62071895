import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations } from '../api/labels.js';
import { disruptionReasons, type DisruptionReason } from '../api/disruption-reasons.js';
import { absentOr, number, object, oneOf, optional, text } from '../core/shapes.js';

const causes = ['Approval', 'Budget', 'Pause'] as const;

/** What the disruption of a node waits for, as the annotation of its NodeClaim says (people/waits-are-shown). */
export interface DisruptionWait {
  /** Id of the workflow that waits. */
  readonly workflow: string;
  readonly reason: DisruptionReason;
  readonly for: (typeof causes)[number];
  /** In words. */
  readonly why: string;
  /** Milliseconds of the epoch. */
  readonly since: number;
  /** When it may change by time alone, milliseconds of the epoch. */
  readonly until?: number;
  /** What a command that asks for approval saves, dollars per hour. */
  readonly saves?: number;
}

const shape = object({
  workflow: text,
  reason: oneOf(...disruptionReasons),
  for: oneOf(...causes),
  why: text,
  since: number,
  until: optional(number),
  saves: absentOr(number),
});

/** The wait of a NodeClaim; undefined for none, and for one that cannot be read. */
export function waitOf({ metadata }: Pick<NodeClaim, 'metadata'>): DisruptionWait | undefined {
  const annotation = metadata.annotations?.[annotations.disruptionWait];
  if (annotation === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(annotation);
    return shape(value, '') === undefined ? (value as DisruptionWait) : undefined;
  } catch {
    return undefined;
  }
}

/** The urgency of reasons, the most urgent first (budgets/urgent-first). */
const byUrgency: readonly DisruptionReason[] = ['Unhealthy', 'Expired', 'Drifted', 'Empty', 'Underutilized'];

/** The most urgent first, then the one that has waited longest. */
export function compareUrgency(
  a: Pick<DisruptionWait, 'reason' | 'since'>,
  b: Pick<DisruptionWait, 'reason' | 'since'>,
): number {
  return byUrgency.indexOf(a.reason) - byUrgency.indexOf(b.reason) || a.since - b.since;
}

export const isMoreUrgent = (a: DisruptionReason, b: DisruptionReason): boolean =>
  byUrgency.indexOf(a) < byUrgency.indexOf(b);

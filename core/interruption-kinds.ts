/** The kinds of interruption notices. */
export type InterruptionKind =
  | 'spot_interrupted'
  | 'rebalance_recommendation'
  | 'instance_stopped'
  | 'instance_terminated'
  | 'capacity_reservation_interrupted'
  | 'scheduled_change'
  | 'instance_status'
  | 'system_status'
  | 'event_status';

/** A cloud's notice that an instance ends, or that it may end soon. */
export interface InterruptionNotice {
  readonly kind: InterruptionKind;
  readonly instanceId: string;
  /** The time given by the cloud, milliseconds of the epoch. */
  readonly at: number;
  /** The cloud's id of the message, for deduplication. */
  readonly messageId: string;
}

/**
 * Notices that are only recommendations: the node may stay. Every other kind ends the instance (interruption/kinds).
 */
const hints: ReadonlySet<string> = new Set(['rebalance_recommendation']);
/**
 * Kinds that the cloud sends once. Failed status checks and scheduled events are repeated every minute while they last
 * (interruption/recorded-first).
 */
const recorded: ReadonlySet<string> = new Set([
  'spot_interrupted',
  'capacity_reservation_interrupted',
  'instance_stopped',
  'instance_terminated',
]);

export function isHint(kind: string): boolean {
  return hints.has(kind);
}

export function isRecorded(kind: string): kind is InterruptionKind {
  return recorded.has(kind);
}

/**
 * Notices that are only recommendations: the node may stay. Every other kind ends the instance (interruption/kinds).
 */
const hints: ReadonlySet<string> = new Set(['rebalance_recommendation']);
/**
 * Kinds that the cloud sends once. Failed status checks are repeated every minute while they last
 * (interruption/recorded-first).
 */
const recorded: ReadonlySet<string> = new Set([
  'spot_interrupted',
  'capacity_reservation_interrupted',
  'scheduled_change',
  'instance_stopped',
  'instance_terminated',
]);

export function isHint(kind: string): boolean {
  return hints.has(kind);
}

export function isRecorded(kind: string): boolean {
  return recorded.has(kind);
}

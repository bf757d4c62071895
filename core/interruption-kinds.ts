/** Kinds of notices that only announce: the node may stay. Every other kind ends the instance (interruption/kinds). */
const hints: ReadonlySet<string> = new Set(['rebalance_recommendation']);
/** Kinds that the cloud says once. What status checks say, they say every minute for as long as it is so (interruption/recorded-first). */
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

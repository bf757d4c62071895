/** Kinds of notices that only announce: the node may stay. Every other kind ends the instance (interruption/kinds). */
const hints: ReadonlySet<string> = new Set(['rebalance_recommendation']);

export function isHint(kind: string): boolean {
  return hints.has(kind);
}

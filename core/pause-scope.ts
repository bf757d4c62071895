/** What a pause applies to: disruption of the cluster, of a NodePool, of a node, or for a reason. */
export interface PauseScope {
  readonly kind: 'cluster' | 'nodePool' | 'reason' | 'node';
  /** Name of the NodePool, node or reason; absent for the cluster. */
  readonly name?: string;
  /** Limits a pause of a NodePool to this reason. */
  readonly reason?: string;
}

/** Whether a pause of this scope stops the disruption of a node for this reason (invariants/pauses-hold). */
export function pauseStops(
  { kind, name, reason: only }: PauseScope,
  reason: string,
  { node, nodePool }: { readonly node: string; readonly nodePool: string },
): boolean {
  if (only !== undefined && only !== reason) return false;
  return kind === 'cluster' || name === { reason, nodePool, node }[kind];
}

/** The scope as text: `the cluster`, `NodePool gpu`, `NodePool gpu for Drifted`, `node ip-10-0-0-1`. */
export function pauseScopeText({ kind, name = '', reason }: PauseScope): string {
  const what = { cluster: 'the cluster', nodePool: `NodePool ${name}`, reason: `reason ${name}`, node: `node ${name}` };
  return `${what[kind]}${reason === undefined ? '' : ` for ${reason}`}`;
}

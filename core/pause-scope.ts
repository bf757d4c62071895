interface Scope {
  readonly kind: 'cluster' | 'nodePool' | 'reason' | 'node';
  readonly name?: string;
  /** Of a NodePool: this reason alone. */
  readonly reason?: string;
}

/** What a pause holds up, for a person: `the cluster`, `NodePool gpu`, `NodePool gpu for Drifted`, `node ip-10-0-0-1`. */
export function pauseScopeText({ kind, name = '', reason }: Scope): string {
  const what = { cluster: 'the cluster', nodePool: `NodePool ${name}`, reason: `reason ${name}`, node: `node ${name}` };
  return `${what[kind]}${reason === undefined ? '' : ` for ${reason}`}`;
}

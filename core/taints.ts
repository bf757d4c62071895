import type { Node, Taint } from '../api/kubernetes.js';

/** Whether the node has a taint of this key, whatever its effect. */
export function hasTaint({ spec }: Pick<Node, 'spec'>, { key }: Pick<Taint, 'key'>): boolean {
  return spec?.taints?.some((taint) => taint.key === key) ?? false;
}

/** The node's taints but for those of this key. */
export function withoutTaint({ spec }: Pick<Node, 'spec'>, { key }: Pick<Taint, 'key'>): Taint[] {
  return (spec?.taints ?? []).filter((taint) => taint.key !== key);
}

import type { Node, Taint } from '../api/kubernetes.js';
import { taints } from '../api/labels.js';

/** Whether the node has a taint of this key, whatever its effect. */
export function hasTaint({ spec }: Pick<Node, 'spec'>, { key }: Pick<Taint, 'key'>): boolean {
  return spec?.taints?.some((taint) => taint.key === key) ?? false;
}

/** Whether two taints are one to the API server, which tells them apart by key and effect. */
export const isSameTaint = (a: Pick<Taint, 'key' | 'effect'>, b: Pick<Taint, 'key' | 'effect'>): boolean =>
  a.key === b.key && a.effect === b.effect;

/** Whether the node has the taint that it comes with, until it is registered. */
export const hasUnregisteredTaint = ({ spec }: Pick<Node, 'spec'>): boolean =>
  spec?.taints?.some((taint) => isSameTaint(taint, taints.unregistered)) ?? false;

/** The node's taints but for those of this key. */
export function withoutTaint({ spec }: Pick<Node, 'spec'>, { key }: Pick<Taint, 'key'>): Taint[] {
  return (spec?.taints ?? []).filter((taint) => taint.key !== key);
}

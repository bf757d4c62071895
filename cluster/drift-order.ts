import { compareText } from '../core/text.js';
import { transitionOf } from '../core/conditions.js';
import type { NodeView } from '../disruption/candidates/candidates.js';
import { isReschedulable } from '../core/pods.js';
import { nodeNameOf } from './cluster.js';

/**
 * Drifted nodes in Karpenter's order: those without pods to move first, then those that drifted first
 * (drift/oldest-first).
 */
export function emptyThenOldest(a: NodeView, b: NodeView): number {
  const full = ({ pods }: NodeView): number => Number(pods.some(isReschedulable));
  const since = ({ claim }: NodeView): number => transitionOf(claim.status?.conditions, 'Drifted') ?? 0;
  return full(a) - full(b) || since(a) - since(b) || compareText(nodeNameOf(a), nodeNameOf(b));
}

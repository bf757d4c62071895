import type { ExpirationView } from '../../activities/expiration/contract.js';
import { ExactClaims } from '../replacement/exact-claims.js';
import { NodeReplacement } from '../replacement/replacement.js';

type Successor = NonNullable<Extract<ExpirationView, { state: 'live' }>['successor']>;

/**
 * A node of a static NodePool is replaced by exactly one node of that NodePool, whatever pods it has
 * (expiration/static-successor). `current`: the replacement of the attempt before, whose NodeClaims are kept.
 */
export function bySuccessor(cluster: string, current: NodeReplacement, successor: Successor): NodeReplacement {
  const { source } = current;
  const claims = source instanceof ExactClaims ? source : new ExactClaims(cluster);
  claims.plan = { ...successor, forPods: false };
  return claims === source ? current : new NodeReplacement(cluster, claims);
}

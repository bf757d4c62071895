import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import type { ConditionChange } from '../core/conditions.js';
import { lookUp } from '../core/own.js';
import { formatResource, parseResources } from '../core/quantities.js';

/** What the Node shows of ConsistentStateFound (registration/consistency). */
export function consistency({ spec, status }: NodeClaim, node: Node): ConditionChange {
  const type = 'ConsistentStateFound';
  const short = shortfalls(spec.resources?.requests, status?.capacity, node.status?.capacity);
  if (short.length === 0) return { type, status: 'True' };
  const message = short.map(({ resource, expected, found }) => {
    const share = ((found / expected) * 100).toFixed(1);
    const [wanted, there] = [expected, found].map((amount) => formatResource(resource, amount));
    return `expected ${wanted} of resource ${resource}, but found ${there} (${share}% of expected)`;
  });
  return { type, status: 'False', reason: 'ConsistencyCheckFailed', message: message.join(', ') };
}

/** Minimum share of the expected capacity that a node must have (registration/consistency). */
const leastShare = 0.9;

/** A resource of which a node has less than expected. Amounts are in the units of core/quantities.ts. */
interface Shortfall {
  readonly resource: string;
  readonly expected: number;
  readonly found: number;
}

/**
 * The requested resources of which the node's capacity falls short (registration/consistency). Resources that are not
 * requested, or not known for the type, are ignored.
 */
export function shortfalls(
  requested: Readonly<Record<string, string>> | undefined,
  expected: Readonly<Record<string, string>> | undefined,
  found: Readonly<Record<string, string>> | undefined,
): readonly Shortfall[] {
  const promised = parseResources(expected);
  const there = parseResources(found);
  return Object.entries(parseResources(requested))
    .filter(([, amount]) => amount > 0)
    .map(([resource]) => ({ resource, expected: lookUp(promised, resource) ?? 0, found: lookUp(there, resource) ?? 0 }))
    .filter((each) => each.expected > 0 && each.found < each.expected * leastShare);
}

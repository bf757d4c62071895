import { managedClaims, nodeOf, countedCapacity } from '../cluster/cluster.js';
import { labelsOf } from '../cluster/node-labels.js';
import { lookUp } from '../core/own.js';
import { formatResource } from '../core/quantities.js';
import type { OperatorContext } from './context.js';

/** What status.resources and status.nodes say (node-pools/status). */
export function usage(context: OperatorContext, pool: string): { resources: Record<string, string>; nodes: number } {
  const claims = managedClaims(context).filter((claim) => labelsOf(claim).nodePool === pool);
  const sums: Record<string, number> = Object.fromEntries(always.map((name) => [name, 0]));
  let nodes = 0;
  for (const claim of claims) {
    const node = nodeOf(context.cache, claim);
    if (claim.metadata.deletionTimestamp !== undefined || node?.metadata.deletionTimestamp !== undefined) continue;
    const capacity = Object.entries(countedCapacity(claim, node));
    if (capacity.length > 0) nodes += 1;
    for (const [name, amount] of capacity) sums[name] = (lookUp(sums, name) ?? 0) + amount;
  }
  sums.nodes = nodes;
  const written = Object.entries(sums).map(([name, amount]) => [name, formatResource(name, amount)] as const);
  return { resources: Object.fromEntries(written), nodes };
}
/** Always shown, zero or not (node-pools/status). */
export const always = ['cpu', 'memory', 'pods', 'ephemeral-storage', 'nodes'];

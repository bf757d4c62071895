import { parseResources } from '../../core/resources.js';
import { labels } from '../../api/labels.js';
import type { Pool } from '../compile/pools.js';
import type { Universe } from '../compile/universe.js';
import type { NodeView } from '../compile/nodes.js';
import { typeUse, type PoolLimit } from './pool-limit.js';

/** What each limited NodePool may still grow by: its limits less the capacity of its nodes that stay (section 2.5). */
export function poolLimits(
  { pools, nodes, universe }: { pools: readonly Pool[]; nodes: readonly NodeView[]; universe: Universe },
  pods: number,
): PoolLimit[] {
  const limits: PoolLimit[] = [];
  for (const pool of pools) {
    const allowed = parseResources(pool.object.spec.limits);
    const names = Object.keys(allowed).sort();
    if (names.length === 0) continue;
    const members = nodes.filter((view) => !view.leaving && view.labels[labels.nodePool] === pool.name);
    for (const resource of names) {
      let used = 0;
      for (const view of members) used += resource === 'nodes' ? 1 : capacityOf(view, resource);
      const limit = { pool: pool.name, resource, remaining: allowed[resource]! - used };
      let largest = 0;
      for (const type of pool.types) largest = Math.max(largest, typeUse(limit, type));
      // One node a pod is the most that a plan can need: a limit beyond that never binds.
      if (limit.remaining < largest * pods) limits.push(limit);
    }
  }
  const { reservations } = universe;
  for (const reservation of [...reservations.keys()].sort()) {
    limits.push({ reservation, resource: 'nodes', remaining: reservations.get(reservation)! });
  }
  return limits;
}

/** What the node has of a resource, by its own word or its claim. */
export function capacityOf({ node, claim }: NodeView, resource: string): number {
  const reported = parseResources(node?.status?.capacity)[resource] ?? 0;
  return reported > 0 ? reported : (parseResources(claim?.status?.capacity)[resource] ?? 0);
}

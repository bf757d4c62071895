import { parseResources } from '../../core/resources.js';
import { labels } from '../../api/labels.js';
import type { Compiled } from '../compiled.js';
import type { NodeView } from '../compile/nodes.js';
import type { PoolLimit } from './bin-problem.js';

/** What each limited NodePool may still grow by: its limits less the capacity of its nodes that stay (section 2.5). */
export function poolLimits({ pools, nodes, universe }: Compiled): PoolLimit[] {
  const limits: PoolLimit[] = [];
  for (const pool of pools) {
    const allowed = parseResources(pool.object.spec.limits);
    const names = Object.keys(allowed).sort();
    if (names.length === 0) continue;
    const members = nodes.filter((view) => !view.leaving && view.labels[labels.nodePool] === pool.name);
    for (const resource of names) {
      let used = 0;
      for (const view of members) used += resource === 'nodes' ? 1 : capacityOf(view, resource);
      limits.push({ pool: pool.name, resource, remaining: allowed[resource]! - used });
    }
  }
  const reservations = new Map<string, number>();
  for (const { profile, offering } of universe.rows) {
    if (profile.reservation === undefined) continue;
    const free = offering.reservationCapacity ?? 0;
    reservations.set(profile.reservation, Math.min(reservations.get(profile.reservation) ?? free, free));
  }
  for (const reservation of [...reservations.keys()].sort()) {
    limits.push({ reservation, resource: 'nodes', remaining: reservations.get(reservation)! });
  }
  return limits;
}

function capacityOf({ node, claim }: NodeView, resource: string): number {
  const reported = parseResources(node?.status?.capacity)[resource] ?? 0;
  return reported > 0 ? reported : (parseResources(claim?.status?.capacity)[resource] ?? 0);
}

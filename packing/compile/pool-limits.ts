import { parseResources } from '../../core/quantities.js';
import { labels } from '../../api/labels.js';
import type { Pool } from './pools.js';
import type { Coverage } from './coverage.js';
import { commitmentId } from './catalogue-terms.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Row, Universe } from './universe.js';
import { offeringLabelsOf, type CompiledNode } from './nodes.js';
import { lookUp } from '../../core/own.js';

/** The remaining amount of a NodePool's limit, a capacity reservation or a commitment. */
export interface PoolLimit {
  readonly pool?: string;
  readonly reservation?: string;
  /** Resource name; `nodes` counts nodes. */
  readonly resource: string;
  remaining: number;
}

/** Use of the limit by one node of a type. */
export function typeUse({ resource }: PoolLimit, type: InstanceType): number {
  return resource === 'nodes' ? 1 : (lookUp(type.capacity, resource) ?? 0);
}

/** Use of the limit by one node of a row. */
export function rowUse({ type, profile, offering }: Row, limit: PoolLimit): number {
  if (limit.reservation === undefined) return profile.pool.name === limit.pool ? typeUse(limit, type) : 0;
  return profile.reservation === limit.reservation ? (offering.commitment?.use ?? 1) : 0;
}

interface LimitedBy {
  readonly pools: readonly Pool[];
  readonly nodes: readonly CompiledNode[];
  readonly universe: Universe;
  readonly coverage: Coverage;
}

/** What the limits of each NodePool leave: the limits minus the capacity of its nodes that stay (limits/remaining). */
export function poolLimits({ pools, nodes, universe, coverage }: LimitedBy, pods: number): PoolLimit[] {
  const limits: PoolLimit[] = [];
  const members = membersOf(nodes);
  for (const pool of pools) {
    // The NodePool launches nothing, so its limits do not matter.
    if (universe.typeRuns[pool.index]!.length === 0) continue;
    const allowed = parseResources(pool.object.spec.limits);
    const names = Object.keys(allowed).sort();
    if (names.length === 0) continue;
    for (const resource of names) {
      let used = 0;
      for (const view of members.get(pool.name) ?? []) used += resource === 'nodes' ? 1 : capacityOf(view, resource);
      const limit = { pool: pool.name, resource, remaining: lookUp(allowed, resource)! - used };
      let largest = 0;
      for (const type of pool.types) largest = Math.max(largest, typeUse(limit, type));
      // A plan launches at most one node per pod: limits beyond that are never reached.
      if (limit.remaining < largest * pods) limits.push(limit);
    }
  }
  const { reservations } = universe;
  for (const reservation of [...reservations.keys()].sort()) {
    limits.push({ reservation, resource: 'nodes', remaining: reservations.get(reservation)! });
  }
  for (const { name } of coverage.open) {
    limits.push({ reservation: commitmentId(name), resource: 'nodes', remaining: coverage.left.get(name)! + noise });
  }
  return limits;
}

/** Rounding must not exclude the last node that fits a commitment. */
const noise = 1e-9;

/** The nodes that stay, by NodePool. */
function membersOf(nodes: readonly CompiledNode[]): ReadonlyMap<string, readonly CompiledNode[]> {
  const members = new Map<string, CompiledNode[]>();
  for (const view of nodes) {
    const pool = offeringLabelsOf(view)[labels.nodePool];
    if (view.deleting || pool === undefined) continue;
    const there = members.get(pool);
    if (there === undefined) members.set(pool, [view]);
    else there.push(view);
  }
  return members;
}

/** The capacity of a node by its status or its NodeClaim (limits/counted-capacity). */
export function capacityOf({ node, claim }: CompiledNode, resource: string): number {
  const reported = lookUp(parseResources(node?.status?.capacity), resource) ?? 0;
  return reported > 0 ? reported : (lookUp(parseResources(claim?.status?.capacity), resource) ?? 0);
}

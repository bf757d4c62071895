import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { countedCapacity, managedClaims, nodeOf } from '../cluster/cluster.js';
import { labelsOf } from '../cluster/node-labels.js';
import { lookUp } from '../core/own.js';
import { formatResource } from '../core/quantities.js';
import type { OperatorContext } from './context.js';
import { isDeleting } from '../core/names.js';

/** The values for status.resources and status.nodes of a NodePool. */
interface PoolUsage {
  readonly resources: Readonly<Record<string, string>>;
  readonly nodes: number;
}

type Deps = Pick<OperatorContext, 'cache' | 'cloud'>;

interface Known {
  readonly nodes: readonly Node[];
  readonly byPool: ReadonlyMap<string, PoolUsage>;
}

/** Cached by the list of NodeClaims, so that each claim is counted once, instead of once for each of many NodePools. */
const known = new WeakMap<readonly NodeClaim[], Known>();

/** Computes status.resources and status.nodes (node-pools/status). */
export function usage(deps: Deps, pool: string): PoolUsage {
  const claims = deps.cache.all('NodeClaim');
  const nodes = deps.cache.all('Node');
  let found = known.get(claims);
  if (found?.nodes !== nodes) known.set(claims, (found = { nodes, byPool: usageByPool(deps) }));
  return found.byPool.get(pool) ?? noUsage;
}

function usageByPool(deps: Deps): ReadonlyMap<string, PoolUsage> {
  const sums = new Map<string, Record<string, number>>();
  for (const claim of managedClaims(deps)) {
    const pool = labelsOf(claim).nodePool;
    const own = sums.get(pool) ?? nothing();
    sums.set(pool, own);
    addClaim(deps, claim, own);
  }
  return new Map([...sums].map(([pool, own]) => [pool, written(own)]));
}

function addClaim(deps: Deps, claim: NodeClaim, sums: Record<string, number>): void {
  const node = nodeOf(deps.cache, claim);
  if (isDeleting(claim) || node?.metadata.deletionTimestamp !== undefined) return;
  const capacity = Object.entries(countedCapacity(claim, node));
  if (capacity.length > 0) sums['nodes'] = (sums['nodes'] ?? 0) + 1;
  for (const [name, amount] of capacity) if (name !== 'nodes') sums[name] = (lookUp(sums, name) ?? 0) + amount;
}

function written(sums: Readonly<Record<string, number>>): PoolUsage {
  const entries = Object.entries(sums).map(([name, amount]) => [name, formatResource(name, amount)] as const);
  return { resources: Object.fromEntries(entries), nodes: sums['nodes'] ?? 0 };
}

/** Always present, even if zero (node-pools/status). */
const always = ['cpu', 'memory', 'pods', 'ephemeral-storage', 'nodes'];

const nothing = (): Record<string, number> => Object.fromEntries(always.map((name) => [name, 0]));
const noUsage = written(nothing());

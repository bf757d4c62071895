import type { Cluster, Policy, Pool } from './cluster.js';
import { selectorMatches } from './selectors.js';

/** The policy that rules a pool: of those that select it the heaviest, of equals the first by name. */
export function policyOf(cluster: Pick<Cluster, 'policies'>, pool: Pool): Policy | undefined {
  const selecting = cluster.policies.filter(
    ({ spec }) =>
      spec.nodePoolSelector === undefined || selectorMatches(spec.nodePoolSelector, pool.metadata.labels ?? {}),
  );
  const [first] = selecting.sort(
    (a, b) =>
      (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
  return first;
}

/** What its user pays for each node of a pool besides the cloud, dollars per hour. */
export function nodeCostOf(cluster: Pick<Cluster, 'policies'>, pool: Pool): number {
  return Number(policyOf(cluster, pool)?.spec.nodeCost ?? 0);
}

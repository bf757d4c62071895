import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';
import { hostRoom, selectsOwn, type Host, type HostContext, type IncomingPod } from './host-rules.js';

type DomainOf = (key: string) => string | undefined;

const anywhere = (): boolean => true;

/** Whether host ports, volumes and all topology rules, those by host name included, allow one more pod on the node; room is not checked. */
export function rulesAdmit(context: HostContext, node: Host, incoming: IncomingPod, domainOf: DomainOf): boolean {
  const { topologyCounts } = context;
  const { rules } = incoming;
  return (
    hostRoom(node, incoming, context, 1) > 0 &&
    meetsHostAffinity(topologyCounts, rules, node.host) &&
    allows(topologyCounts, rules, domainOf)
  );
}

/**
 * Whether the topology rules allow one more pod in these domains. `begins` says whether the first pod of an affinity may be in a
 * domain; by default in any.
 */
export function allows(
  topologyCounts: TopologyCounts,
  rules: Rules,
  domainOf: DomainOf,
  begins: (group: Group, domain: string) => boolean = anywhere,
): boolean {
  for (const group of rules.spread) {
    if (!keepsSkew(topologyCounts, group, domainOf(group.key), selectsOwn(rules, group))) return false;
  }
  for (const group of rules.antiAffinity) {
    const domain = domainOf(group.key);
    if (domain !== undefined && topologyCounts.count(group, domain) > 0) return false;
  }
  for (const group of rules.matched) {
    if (group.hostname || group.kind !== 'antiAffinity') continue;
    const domain = domainOf(group.key);
    if (domain !== undefined && topologyCounts.owners(group, domain) > 0) return false;
  }
  for (const group of rules.affinity) {
    const domain = domainOf(group.key);
    if (domain === undefined || !findsAffinityMatch(topologyCounts, rules, group, domain, begins)) return false;
  }
  return true;
}

/** Whether the domain has a pod that the affinity selects, or may get the first such pod. */
function findsAffinityMatch(
  topologyCounts: TopologyCounts,
  rules: Rules,
  group: Group,
  domain: string,
  begins: (group: Group, domain: string) => boolean,
): boolean {
  if (topologyCounts.total(group) > 0) return topologyCounts.count(group, domain) > 0;
  return selectsOwn(rules, group) && begins(group, domain);
}

/** Whether the skew holds with one more pod in the domain, which counts if the rule selects it. */
export function keepsSkew(
  topologyCounts: TopologyCounts,
  group: Group,
  domain: string | undefined,
  counts: boolean,
): boolean {
  if (domain === undefined) return false;
  return topologyCounts.count(group, domain) + (counts ? 1 : 0) - topologyCounts.least(group) <= group.maxSkew;
}

/** Whether required pod affinity by host name is met on the host, or the pod may be the first that it selects. */
export function meetsHostAffinity(topologyCounts: TopologyCounts, rules: Rules, host: string | undefined): boolean {
  return rules.hostAffinity.every(
    (group) =>
      (host !== undefined && topologyCounts.count(group, host) > 0) ||
      (topologyCounts.total(group) === 0 && selectsOwn(rules, group)),
  );
}

/** Whether the pod can be removed from the host alone: no pod there has affinity to it. */
export function isFree(
  topologyCounts: TopologyCounts,
  rules: Rules,
  host: string,
  others: readonly { readonly rules: Rules }[],
): boolean {
  return !rules.matched.some(
    (group) =>
      topologyCounts.count(group, host) === 1 && others.some((other) => other.rules.hostAffinity.includes(group)),
  );
}

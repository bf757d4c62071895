import type { LabelSelector, TopologySpreadConstraint } from '../../../api/kubernetes.js';
import { hostnameKey } from '../catalogue.js';
import { type FinalNode, type Launch, type Placement, daemonsOn, launchesOf, mayFitLabels } from '../placement.js';
import { fixedLabels } from '../prices.js';
import type { PodClass } from '../pods.js';
import { normalKey, selectorMatches, untolerated } from '../selectors.js';
import type { Violation } from '../types.js';
import { countedNodes, runningOn, type Spot, spotsByClass, withLabelKeys } from './where.js';

/** Pods under one and the same constraint: their skews are counted together. */
interface Group {
  readonly owner: PodClass;
  readonly constraint: TopologySpreadConstraint;
  readonly key: string;
  readonly selector: LabelSelector | undefined;
  readonly members: Set<PodClass>;
}

/**
 * Spread constraints (DoNotSchedule) over the final placement. The scheduler checks each pod as it comes, so a placement
 * is valid if some order of binding passes. Pods that match but are not bound by the constraint themselves may come
 * last, and a pod that helps the emptiest domain may come first; therefore the rule is, for each domain with a pod of the
 * group: pods running there + pods of the group placed there <= least final count of any eligible domain + maxSkew.
 * Eligible domains are those of the nodes there are and, since nodes can be made, those that some NodePool could make
 * for the pod. A claim whose domain is open counts wherever it could be, and helps nowhere.
 */
export function checkSpread(placement: Placement): Violation[] {
  const spots = spotsByClass(placement);
  const groups = groupsOf(spots);
  const pools = new PoolLaunches(placement);
  const broken = groups.flatMap((group) => judge(placement, group, spots, pools, 'the group'));
  return [...broken, ...stuckOnHosts(placement, groups)];
}

/**
 * Whether spread constraints hold only if pods are bound in a certain order: pods that match and are not bound by the constraint last. kube-scheduler knows of no such
 * order, and leaves pods pending in others. It knows no domains but those of nodes.
 */
export function spreadNeedsOrder(placement: Placement): boolean {
  const spots = spotsByClass(placement);
  const pools = new PoolLaunches(placement);
  return groupsOf(spots).some((group) => judge(placement, group, spots, pools, 'all').length > 0);
}

/** The constraints that must hold of pods that the plan places. */
function groupsOf(spots: ReadonlyMap<PodClass, readonly Spot[]>): Group[] {
  const groups = new Map<string, Group>();
  for (const [podClass, at] of spots) {
    if (!at.some((spot) => spot.placed > 0)) continue;
    for (const constraint of podClass.spec.topologySpreadConstraints ?? []) {
      if (constraint.whenUnsatisfiable === 'DoNotSchedule') groupOf(groups, podClass, constraint).members.add(podClass);
    }
  }
  return [...groups.values()];
}

/**
 * Pods of a new node that can come in no order: each of them is one too many under its own rule if it comes last of those that are
 * left. A pod that can come last is taken away, which makes it no harder for the others.
 */
function stuckOnHosts(placement: Placement, groups: readonly Group[]): Violation[] {
  const onHosts = groups.filter(({ key }) => key === hostnameKey);
  if (onHosts.length < 2) return [];
  return placement.nodes.flatMap((node): Violation[] => {
    if (node.claim === undefined) return [];
    const left = new Map(node.placed);
    const mayBeLast = (podClass: PodClass): boolean =>
      onHosts.every((group) => {
        const chosen = (other: PodClass): boolean =>
          other.namespace === group.owner.namespace && selectorMatches(group.selector, other.labels);
        if (!group.members.has(podClass) || !chosen(podClass)) return true;
        const count = [...left].reduce((sum, [other, pods]) => sum + (chosen(other) ? pods : 0), 0);
        return count <= group.constraint.maxSkew + leastOnHosts(placement, group, chosen);
      });
    for (;;) {
      const last = [...left.keys()].find(mayBeLast);
      if (last === undefined) break;
      left.delete(last);
    }
    const [stuck] = left.keys();
    if (stuck === undefined) return [];
    const message = `${left.size} kinds of pods on one node keep each other away under rules of ${hostnameKey}`;
    return [{ rule: 'topology-spread', node: node.name, pod: stuck.example, message }];
  });
}

/** How many of the chosen pods are on whichever eligible node has fewest. */
function leastOnHosts(placement: Placement, group: Group, chosen: (podClass: PodClass) => boolean): number {
  const counts = countedNodes(placement)
    .filter((node) => isEligible(group, node))
    .map((node) => {
      const classes = [...new Set([...node.running.keys(), ...node.placed.keys()])].filter(chosen);
      const daemons = [...node.daemons.keys()].filter(chosen).length;
      return classes.reduce((sum, each) => sum + runningOn(node, each) + (node.placed.get(each) ?? 0), daemons);
    });
  return counts.length > 0 && counts.length >= (group.constraint.minDomains ?? 1) ? Math.min(...counts) : 0;
}

function groupOf(groups: Map<string, Group>, owner: PodClass, constraint: TopologySpreadConstraint): Group {
  const selector = withLabelKeys(constraint.labelSelector, owner.labels, constraint.matchLabelKeys, undefined);
  const text = JSON.stringify([
    owner.namespace,
    { ...constraint, labelSelector: selector },
    constraint.nodeAffinityPolicy === 'Ignore' ? 0 : [owner.spec.nodeSelector, owner.spec.affinity?.nodeAffinity],
    constraint.nodeTaintsPolicy === 'Honor' ? owner.spec.tolerations : 0,
  ]);
  let group = groups.get(text);
  if (group === undefined) {
    group = { owner, constraint, key: normalKey(constraint.topologyKey), selector, members: new Set() };
    groups.set(text, group);
  }
  return group;
}

function isEligible(group: Group, node: Pick<FinalNode, 'labels' | 'name' | 'taints'>): boolean {
  const { constraint, owner } = group;
  if (constraint.nodeAffinityPolicy !== 'Ignore' && !mayFitLabels(owner.spec, node.labels, node.name)) return false;
  return constraint.nodeTaintsPolicy !== 'Honor' || untolerated(node.taints, owner.spec.tolerations) === undefined;
}

function judge(
  placement: Placement,
  group: Group,
  spots: ReadonlyMap<PodClass, readonly Spot[]>,
  pools: PoolLaunches,
  counted: 'the group' | 'all',
): Violation[] {
  const eligible = new Set(countedNodes(placement).filter((node) => isEligible(group, node)));
  const final = new Map<string, number>(); // sure to be there in the end
  const early = new Map<string, number>(); // running, or counted
  for (const node of eligible) addDaemons(group, node, final, early);
  for (const [podClass, at] of spots) {
    if (podClass.namespace !== group.owner.namespace || !selectorMatches(group.selector, podClass.labels)) continue;
    for (const { node, running, placed } of at) {
      if (!eligible.has(node)) continue;
      addAt(final, certain(group, node), running + placed);
      const isCounted = counted === 'all' || group.members.has(podClass);
      addAt(early, node.labels(group.key) ?? [], running + (isCounted ? placed : 0));
    }
  }
  if (counted === 'the group') addOpenDomains(group, pools, final);
  const enough = final.size > 0 && final.size >= (group.constraint.minDomains ?? 1);
  return report(group, spots, early, (enough ? Math.min(...final.values()) : 0) + group.constraint.maxSkew);
}

/** Domains without a node count nothing; once they have one, they have that node's pods of DaemonSets. */
function addOpenDomains(group: Group, pools: PoolLaunches, final: Map<string, number>): void {
  if (group.key === hostnameKey) return;
  for (const [domain, least] of pools.domains(group)) if (!final.has(domain)) final.set(domain, least);
}

/** The domain of the node, with pods of DaemonSets that are still to come to it. */
function addDaemons(group: Group, node: FinalNode, final: Map<string, number>, early: Map<string, number>): void {
  addAt(final, certain(group, node), 0);
  for (const [daemon, comes] of node.daemons) {
    if (daemon.namespace !== group.owner.namespace || !selectorMatches(group.selector, daemon.labels)) continue;
    addAt(early, node.labels(group.key) ?? [], 1);
    if (comes === 'sure') addAt(final, certain(group, node), 1);
  }
}

/** The domain of a node if there is but one. */
function certain(group: Group, node: FinalNode): readonly string[] {
  const domains = node.labels(group.key) ?? [];
  return domains.length === 1 ? domains : [];
}

function addAt(counts: Map<string, number>, domains: readonly string[], count: number): void {
  for (const domain of domains) counts.set(domain, (counts.get(domain) ?? 0) + count);
}

function report(
  group: Group,
  spots: ReadonlyMap<PodClass, readonly Spot[]>,
  early: ReadonlyMap<string, number>,
  allowed: number,
): Violation[] {
  const reported = new Set<string>();
  const violations: Violation[] = [];
  for (const member of group.members) {
    for (const { node, placed } of spots.get(member) ?? []) {
      if (placed === 0) continue;
      const domains = node.labels(group.key);
      const over = domains?.find((domain) => (early.get(domain) ?? 0) > allowed);
      if (domains !== undefined && over === undefined) continue;
      const at = over ?? `no ${group.key}`;
      if (reported.has(at)) continue;
      reported.add(at);
      const message =
        domains === undefined
          ? `its node has no label ${group.key}`
          : `${group.key}=${at} holds ${early.get(at) ?? 0} pods where at most ${allowed} keep the skew of ${group.constraint.maxSkew}`;
      violations.push({ rule: 'topology-spread', node: node.name, pod: member.example, message });
    }
  }
  return violations;
}

/** What the NodePools could launch, for the domains that there could be. */
class PoolLaunches {
  private readonly byPool: { launches: readonly Launch[]; taints: FinalNode['taints'] }[] = [];
  private readonly daemonSets: Placement['cluster']['daemonSets'];

  constructor(placement: Placement) {
    this.daemonSets = placement.cluster.daemonSets;
    const types = [...placement.types.values()];
    for (const pool of placement.cluster.pools.values()) {
      if (pool.spec.replicas !== undefined || pool.metadata.deletionTimestamp !== undefined) continue;
      const template = pool.spec.template;
      const fixed = fixedLabels(pool, undefined, 'a new node');
      this.byPool.push({
        launches: launchesOf(types, fixed, template.spec.requirements ?? []),
        taints: template.spec.taints ?? [],
      });
    }
  }

  /** By domain: how many pods of DaemonSets that count a new node there has at least. */
  domains(group: Group): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    const chosen = this.daemonSets.filter(
      ({ metadata: { namespace = 'default' }, spec: { template } }) =>
        namespace === group.owner.namespace && selectorMatches(group.selector, template.metadata?.labels ?? {}),
    );
    for (const { launches, taints } of this.byPool) {
      if (
        untolerated(taints, group.owner.spec.tolerations) !== undefined &&
        group.constraint.nodeTaintsPolicy === 'Honor'
      ) {
        continue;
      }
      for (const launch of launches) {
        const values = launch.labels(group.key) ?? [];
        const known = Math.min(...values.map((value) => found.get(value) ?? Infinity));
        if (known === 0) continue;
        if (!isEligible(group, { labels: launch.labels, name: 'a new node', taints })) continue;
        if (!holdsAlone(launch, group.owner)) continue;
        const daemons = daemonsOn(chosen, launch.labels, taints, 'a new node').length;
        values.forEach((value) => found.set(value, Math.min(daemons, found.get(value) ?? Infinity)));
      }
    }
    return found;
  }
}

function holdsAlone(launch: Launch, podClass: PodClass): boolean {
  return Object.entries(podClass.requests).every(([name, amount]) => amount <= (launch.type.resources[name] ?? 0));
}

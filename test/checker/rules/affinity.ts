import type { PodAffinityTerm } from '../../../api/kubernetes.js';
import type { FinalNode, Placement } from '../placement.js';
import type { PodClass } from '../pods.js';
import { normalKey } from '../selectors.js';
import type { Violation } from '../types.js';
import { spotsByClass, termSelects } from './where.js';

/** Pods with one and the same required affinity. */
interface Group {
  readonly owner: PodClass;
  readonly terms: readonly PodAffinityTerm[];
  /** The scheduler counts a pod only if every term selects it. */
  readonly selects: (podClass: PodClass) => boolean;
  /** Pods selected and there, by term and domain. */
  readonly there: Map<string, number>;
  total: number;
}

interface Spot {
  readonly podClass: PodClass;
  readonly node: FinalNode;
}

interface Unit extends Spot {
  readonly group: Group;
}

/** Ways to begin that are tried, in all. */
const mostWays = 500;

/**
 * Required pod affinity over the final placement. The scheduler lets a pod in where a selected pod is already, or, while
 * there is none anywhere, anywhere if it selects itself. So the question is whether some order of binding gets every pod
 * in: running pods first, then each group begun once, then pods without affinity; who begins may shut another group out, so
 * that other beginnings are tried then. What stays out is a violation; the commonest is a group begun in two domains, or on
 * two claims whose domain is still open.
 */
export function checkAffinity(placement: Placement): Violation[] {
  const groups = new Map<string, Group>();
  const selectedBy = new Map<PodClass, Group[]>();
  const free: Spot[] = [];
  const waiting: Unit[] = [];
  const running: Spot[] = [];
  const spots = spotsByClass(placement);
  for (const [podClass, at] of spots) {
    const terms = podClass.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const { node, running: before, placed } of at) {
      if (before > 0) running.push({ podClass, node });
      if (placed === 0) continue;
      if (terms.length === 0) free.push({ podClass, node });
      else waiting.push({ podClass, node, group: groupOf(placement, groups, podClass, terms) });
    }
  }
  if (waiting.length === 0) return [];
  running.push(...placement.nodes.flatMap(daemonsInTime));
  for (const podClass of [...spots.keys(), ...running.map((spot) => spot.podClass)]) {
    selectedBy.set(
      podClass,
      [...groups.values()].filter((group) => group.selects(podClass)),
    );
  }
  const order = new Order((podClass) => selectedBy.get(podClass) ?? []);
  running.forEach((unit) => order.admit(unit, 1));
  return order.leastLeft(waiting, free).map(({ podClass, node, group }) => ({
    rule: 'pod-affinity',
    node: node.name,
    pod: podClass.example,
    message: [...selectedBy.values()].some((selecting) => selecting.includes(group))
      ? `the pods that its affinity wants are in another ${group.terms.map((term) => term.topologyKey).join(', ')}`
      : 'no pod that its affinity wants is anywhere, and it does not select itself',
  }));
}

/** Pods of DaemonSets that are sure to run on the node and have no pod affinity themselves. */
const daemonsInTime = (node: FinalNode): Spot[] =>
  [...node.daemons]
    .filter(([{ spec }, comes]) => comes === 'sure' && spec.affinity?.podAffinity === undefined)
    .map(([podClass]) => ({ podClass, node }));

function groupOf(
  placement: Placement,
  groups: Map<string, Group>,
  owner: PodClass,
  terms: readonly PodAffinityTerm[],
): Group {
  const keyed = terms.flatMap((term) => [...(term.matchLabelKeys ?? []), ...(term.mismatchLabelKeys ?? [])]);
  const text = JSON.stringify([owner.namespace, terms, keyed.map((key) => owner.labels[key])]);
  let group = groups.get(text);
  if (group === undefined) {
    const selects = (other: PodClass): boolean =>
      terms.every((term) => termSelects(placement.cluster, term, owner, other));
    group = { owner, terms, selects, there: new Map(), total: 0 };
    groups.set(text, group);
  }
  return group;
}

/** The domain of a node by term; a claim whose domain is open counts as a separate domain. */
function tokens(group: Group, node: FinalNode): string[] {
  return group.terms.flatMap((term, i) => {
    const values = node.labels(normalKey(term.topologyKey));
    if (values === undefined) return [];
    return [values.length === 1 ? `${i}=${values[0] ?? ''}` : `${i}?${node.name}`];
  });
}

function supported({ group, node }: Unit): boolean {
  return group.terms.every((term, i) => {
    const values = node.labels(normalKey(term.topologyKey));
    if (values === undefined) return false;
    if (values.length > 1 && group.there.has(`${i}?${node.name}`)) return true;
    return values.length > 0 && values.every((value) => group.there.has(`${i}=${value}`));
  });
}

/** Looks for an order in which everybody gets in. */
class Order {
  private ways = 0;

  constructor(private readonly selectedBy: (podClass: PodClass) => readonly Group[]) {}

  /** Counts the pod where it is, or with -1 no longer. */
  admit({ podClass, node }: Spot, times: 1 | -1): void {
    for (const group of this.selectedBy(podClass)) {
      group.total += times;
      for (const key of tokens(group, node)) {
        const count = (group.there.get(key) ?? 0) + times;
        if (count > 0) group.there.set(key, count);
        else group.there.delete(key);
      }
    }
  }

  /** Who stays out in the best of the orders that were tried. */
  leastLeft(waiting: readonly Unit[], free: readonly Spot[]): readonly Unit[] {
    const { admitted, rest } = this.settle(waiting);
    let best = rest;
    const ways: (readonly Spot[])[] = beginners(rest, free).map((unit) => [unit]);
    if (free.length > 0) ways.push(free);
    for (const way of ways) {
      if (best.length === 0 || this.ways++ >= mostWays) break;
      way.forEach((spot) => this.admit(spot, 1));
      const others = way === free ? rest : rest.filter((unit) => unit !== way[0]);
      const left = this.leastLeft(others, way === free ? [] : free);
      if (left.length < best.length) best = left;
      way.forEach((spot) => this.admit(spot, -1));
    }
    admitted.forEach((unit) => this.admit(unit, -1));
    return best;
  }

  /** Admits units whose affinity the admitted pods satisfy, until no more are. */
  private settle(waiting: readonly Unit[]): { admitted: readonly Unit[]; rest: readonly Unit[] } {
    const admitted: Unit[] = [];
    let rest = waiting;
    for (let changed = true; changed;) {
      const before = rest.length;
      rest = rest.filter((unit) => {
        if (!supported(unit)) return true;
        this.admit(unit, 1);
        admitted.push(unit);
        return false;
      });
      changed = rest.length < before;
    }
    return { admitted, rest };
  }
}

/**
 * Who may begin a group, one for each of its domains: first where most of the group is, last where pods without affinity will
 * hold it anyway.
 */
function beginners(waiting: readonly Unit[], free: readonly Spot[]): Unit[] {
  const byGroup = new Map<Group, Map<string, { readonly unit: Unit; size: number }>>();
  for (const unit of waiting) {
    const { group, podClass, node } = unit;
    const at = tokens(group, node);
    if (group.total > 0 || !group.selects(podClass) || at.length < group.terms.length) continue;
    const sites = byGroup.get(group) ?? new Map<string, { readonly unit: Unit; size: number }>();
    byGroup.set(group, sites);
    const site = sites.get(at.join()) ?? { unit, size: 0 };
    site.size++;
    sites.set(at.join(), site);
  }
  return [...byGroup].flatMap(([group, sites]) => {
    const held = new Set(
      free.filter(({ podClass }) => group.selects(podClass)).map(({ node }) => tokens(group, node).join()),
    );
    const score = ([at, { size }]: [string, { size: number }]): number => size - (held.has(at) ? 1e9 : 0);
    return [...sites].sort((a, b) => score(b) - score(a)).map(([, { unit }]) => unit);
  });
}

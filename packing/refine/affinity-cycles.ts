import { selectsOwn } from '../place/host-rules.js';
import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';

/** Pods of one class on one node, and the domain of each rule there. */
export interface ClassOnNode {
  readonly rules: Rules;
  readonly pods: number;
  readonly domainOf: (group: Group) => string | undefined;
}

/**
 * Cycles of pod affinity: a rule selects pods that have another rule, and so on back to the first. In the finished plan
 * each rule is satisfied, but kube-scheduler could bind none of the pods first.
 */
export class AffinityCycles {
  private readonly groups: ReadonlySet<Group>;

  /** @param required the rules of every class without preferences */
  constructor(required: readonly Rules[]) {
    this.groups = inCycles(required);
  }

  get any(): boolean {
    return this.groups.size > 0;
  }

  /** The rules, with their domains, that no binding order can satisfy (topology/affinity-cycles). */
  unmet(
    onNodes: readonly ClassOnNode[],
    topologyCounts: TopologyCounts,
  ): { readonly group: Group; readonly domain: string | undefined }[] {
    const wantedBy = (rules: Rules): Group[] => affinityOf(rules).filter((group) => this.groups.has(group));
    let rest = onNodes.filter(({ rules }) => wantedBy(rules).length > 0);
    const waiting = new WaitingPods(rest);
    const isMet = ({ domainOf }: ClassOnNode, group: Group): boolean =>
      waiting.hasBoundPod(topologyCounts, group, domainOf(group));
    const canBeBound = (onNode: ClassOnNode): boolean => wantedBy(onNode.rules).every((group) => isMet(onNode, group));
    const canBeBoundFirst = (onNode: ClassOnNode): boolean =>
      wantedBy(onNode.rules).every(
        (group) =>
          isMet(onNode, group) || (waiting.hasNoneAnywhere(topologyCounts, group) && selectsOwn(onNode.rules, group)),
      );
    while (rest.length > 0) {
      const next = rest.find(canBeBound) ?? rest.find(canBeBoundFirst);
      if (next === undefined) break;
      waiting.add(next, -1);
      rest = rest.filter((onNode) => onNode !== next);
    }
    return rest.flatMap((onNode) =>
      wantedBy(onNode.rules)
        .filter((group) => !isMet(onNode, group))
        .map((group) => ({ group, domain: onNode.domainOf(group) })),
    );
  }
}

/** Pods that `TopologyCounts` contains but that are not bound yet in the simulated binding order. */
class WaitingPods {
  private readonly pods = new Map<Group, Map<string, number>>();

  constructor(onNodes: readonly ClassOnNode[]) {
    for (const onNode of onNodes) this.add(onNode, 1);
  }

  add({ rules, pods, domainOf }: ClassOnNode, times: 1 | -1): void {
    for (const group of rules.matched) {
      const domain = domainOf(group);
      if (domain === undefined) continue;
      let counts = this.pods.get(group);
      if (counts === undefined) this.pods.set(group, (counts = new Map<string, number>()));
      counts.set(domain, (counts.get(domain) ?? 0) + times * pods);
    }
  }

  hasBoundPod(topologyCounts: TopologyCounts, group: Group, domain: string | undefined): boolean {
    if (domain === undefined) return false;
    return topologyCounts.count(group, domain) > (this.pods.get(group)?.get(domain) ?? 0);
  }

  hasNoneAnywhere(topologyCounts: TopologyCounts, group: Group): boolean {
    let waiting = 0;
    for (const count of this.pods.get(group)?.values() ?? []) waiting += count;
    return topologyCounts.total(group) <= waiting;
  }
}

const affinityOf = ({ affinity, hostAffinity }: Rules): Group[] => [...affinity, ...hostAffinity];

function inCycles(required: readonly Rules[]): Set<Group> {
  const waitsFor = new Map<Group, Set<Group>>();
  for (const rules of required) {
    for (const group of rules.matched) {
      if (group.kind !== 'affinity') continue;
      const next = waitsFor.get(group) ?? new Set<Group>();
      waitsFor.set(group, next);
      for (const other of affinityOf(rules)) if (other !== group) next.add(other);
    }
  }
  return new Set([...waitsFor.keys()].filter((group) => reaches(group, waitsFor)));
}

function reaches(from: Group, waitsFor: ReadonlyMap<Group, ReadonlySet<Group>>): boolean {
  const seen = new Set<Group>();
  const open = [...(waitsFor.get(from) ?? [])];
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    if (group === from) return true;
    if (seen.has(group)) continue;
    seen.add(group);
    open.push(...(waitsFor.get(group) ?? []));
  }
  return false;
}

import type { Pod } from '../../api/kubernetes.js';
import type { OpenClaim } from './open-claim.js';
import type { PodClass } from '../compile/classes.js';
import type { Universe } from '../compile/universe.js';
import type { KeySpace } from '../compile/key-space.js';
import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { selectsOwn } from './host-rules.js';
import { removeFrom, type NodeState } from './node-states.js';
import type { Member } from './part.js';

interface Balance {
  readonly universe: Universe;
  readonly space: KeySpace;
  readonly book: RuleBook;
  readonly topologyCounts: TopologyCounts;
  readonly nodes: readonly NodeState[];
  readonly demandOf: (podClass: PodClass) => Float64Array;
}

/**
 * After limits left pods without a node, spread domains are uneven, and pods that others have affinity to may be
 * missing. Removes pods from planned nodes until all rules hold again; drops nodes that become empty.
 */
export function rebalance(
  { universe, space, book, topologyCounts, nodes, demandOf }: Balance,
  claims: readonly OpenClaim[],
  onUnplaced: (podClass: PodClass, pods: readonly Pod[]) => void,
): OpenClaim[] {
  const tentativeNodes = claims.map((claim) => ({
    claim,
    members: claim.members.map((member) => ({ ...member, pods: [...member.pods] })),
  }));
  const dropped = new Set<OpenClaim>();
  for (let changed = true; changed;) {
    changed = false;
    for (const node of nodes) {
      const domainOf = ({ key }: Group): string | undefined => node.kind.values[space.find(key)!];
      const placed = node.placed ?? [];
      for (let i = placed.length - 1; i >= 0; i--) {
        const { podClass, rules, pod } = placed[i]!;
        if (!isBroken(rules, topologyCounts, domainOf)) continue;
        removeFrom(node, placed[i]!, demandOf(podClass));
        onUnplaced(podClass, [pod]);
        topologyCounts.record(rules, -1, node);
        changed = true;
      }
    }
    for (const { claim, members } of tentativeNodes) {
      const { profile } = universe.rows[claim.row]!;
      const domainOf = ({ key }: Group): string | undefined => profile.values[space.find(key)!];
      for (const member of members) {
        const rules = book.of(member.podClass.shape, member.level);
        while (member.pods.length > 0 && isBroken(rules, topologyCounts, domainOf)) {
          onUnplaced(member.podClass, member.pods.splice(-1));
          topologyCounts.recordLaunch(rules, -1, profile);
          changed = true;
        }
      }
      const wasThere = !dropped.has(claim);
      if (wasThere && members.every(({ pods }) => pods.length === 0)) {
        dropped.add(claim);
        topologyCounts.recordDaemons(profile, -1);
        changed = true;
      }
    }
  }
  return tentativeNodes.flatMap(({ claim, members }) => {
    const left: Member[] = members.filter(({ pods }) => pods.length > 0);
    return left.length === 0 ? [] : [{ ...claim, members: left }];
  });
}

/** Whether a rule of pods in these domains does not hold with all pods that are counted. */
export function isBroken(
  rules: Rules,
  topologyCounts: TopologyCounts,
  domainOf: (group: Group) => string | undefined,
): boolean {
  for (const group of rules.spread) {
    const domain = domainOf(group);
    if (domain === undefined) continue;
    if (selectsOwn(rules, group) && topologyCounts.count(group, domain) - topologyCounts.least(group) > group.maxSkew)
      return true;
  }
  // Pods of DaemonSets are counted once nodes are bought; other pods are kept apart when they are placed.
  const isShared = (group: Group, count: 'count' | 'owners', own: number): boolean => {
    const domain = domainOf(group);
    return domain !== undefined && topologyCounts[count](group, domain) > own;
  };
  for (const group of rules.antiAffinity) {
    if (isShared(group, 'count', selectsOwn(rules, group) ? 1 : 0)) return true;
  }
  for (const group of rules.matched) {
    if (group.kind !== 'antiAffinity' || group.hostname) continue;
    if (isShared(group, 'owners', rules.keepsOff.includes(group) ? 1 : 0)) return true;
  }
  return rules.affinity.some((group) => {
    const domain = domainOf(group);
    return domain !== undefined && topologyCounts.count(group, domain) === 0;
  });
}

import type { PodAffinityTerm } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { KeySpace } from '../compile/key-space.js';
import { normaliseKey } from '../../core/labels.js';
import type { Compiled } from '../compile/compiled.js';
import type { NodeForTopology } from './node-state.js';
import type { TopologyCounts } from './topology-counts.js';
import type { Group, Groups, Identity } from './groups.js';
import type { RuleBook } from './rules.js';
import { namespaceOf, fullName, isDeleting } from '../../core/names.js';

/** The required anti-affinity of running pods, which excludes other pods (topology/running-anti-affinity). */
export function bindRunning(compiled: Compiled, groups: Groups, book: RuleBook): Map<string, readonly Group[]> {
  const byPod = new Map<string, readonly Group[]>();
  for (const pods of compiled.bound.values()) {
    for (const pod of pods) {
      const terms = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.filter((term) =>
        hasDomains(compiled.space, term),
      );
      if (terms === undefined || terms.length === 0 || isDeleting(pod)) continue;
      const identity = groups.identity(namespaceOf(pod), pod.metadata.labels);
      const own = terms.map((term) => groups.term('antiAffinity', term, identity));
      for (const group of own) book.bind(group);
      byPod.set(fullName(pod), own);
    }
  }
  return byPod;
}

/** Whether the pass has domains for the term's key. If not, the term excludes no pods. */
function hasDomains(space: KeySpace, { topologyKey }: PodAffinityTerm): boolean {
  const key = normaliseKey(topologyKey);
  if (key === labels.hostname) return true;
  const index = space.find(key);
  return index !== undefined && space.isExact(index);
}

/** Counts running pods, without those that are terminating. */
export function countRunning(
  compiled: Compiled,
  nodes: readonly NodeForTopology[],
  groups: Groups,
  topologyCounts: TopologyCounts,
  owned: ReadonlyMap<string, readonly Group[]>,
): void {
  if (groups.all.length === 0) return;
  for (const node of nodes) {
    const counts = new Map<Identity, number>();
    for (const pod of compiled.bound.get(node.view.name) ?? []) {
      if (isDeleting(pod)) continue;
      const identity = groups.identity(namespaceOf(pod), pod.metadata.labels);
      counts.set(identity, (counts.get(identity) ?? 0) + 1);
      const keepsOff = owned.get(fullName(pod));
      if (keepsOff !== undefined) topologyCounts.record({ ...nothing, keepsOff }, 1, node);
    }
    for (const [identity, pods] of counts) {
      topologyCounts.record({ ...nothing, matched: groups.matching(identity) }, pods, node);
    }
    for (const daemon of node.daemons ?? []) {
      topologyCounts.record({ ...nothing, ...topologyCounts.daemonPods?.countedBy(daemon) }, 1, node);
    }
  }
}

/** A running pod is scheduled already, so its affinity does not matter any more. */
const nothing = { matched: [], keepsOff: [], affinity: [], hostAffinity: [], spread: [], hostSpread: [] };

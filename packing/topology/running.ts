import type { Compiled } from '../compiled.js';
import { fullName, namespaceOf } from '../names.js';
import type { NodeState } from '../place/node-states.js';
import { looksAt, type Ledger } from './ledger.js';
import type { Group, Groups, Identity } from './groups.js';
import type { RuleBook } from './rules.js';

/** Rules of running pods that keep others away: their required anti-affinity (section 2.6, inverse). */
export function bindRunning(compiled: Compiled, groups: Groups, book: RuleBook): Map<string, readonly Group[]> {
  const byPod = new Map<string, readonly Group[]>();
  for (const pods of compiled.bound.values()) {
    for (const pod of pods) {
      const terms = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      if (terms === undefined || terms.length === 0 || pod.metadata.deletionTimestamp !== undefined) continue;
      const identity = groups.identity(namespaceOf(pod), pod.metadata.labels);
      const own = terms.map((term) => groups.term('antiAffinity', term, identity));
      for (const group of own) book.bind(group);
      byPod.set(fullName(pod), own);
    }
  }
  return byPod;
}

/** Counts the pods that run, but for those that are on their way out. */
export function countRunning(
  compiled: Compiled,
  nodes: readonly NodeState[],
  groups: Groups,
  ledger: Ledger,
  owned: ReadonlyMap<string, readonly Group[]>,
): void {
  if (groups.all.length === 0) return;
  for (const node of nodes) {
    const domainIn = (group: Group): string | undefined => domainOf(compiled, node, group);
    const counts = new Map<Identity, number>();
    for (const pod of compiled.bound.get(node.view.name) ?? []) {
      if (pod.metadata.deletionTimestamp !== undefined) continue;
      const identity = groups.identity(namespaceOf(pod), pod.metadata.labels);
      counts.set(identity, (counts.get(identity) ?? 0) + 1);
      countOwner(owned.get(fullName(pod)) ?? [], ledger, domainIn);
    }
    for (const [identity, pods] of counts) countSelected(groups.matching(identity), pods, node, ledger, domainIn);
  }
}

type DomainIn = (group: Group) => string | undefined;

function countOwner(own: readonly Group[], ledger: Ledger, domainIn: DomainIn): void {
  for (const group of own) {
    const domain = domainIn(group);
    if (domain !== undefined) ledger.addOwner(group, domain, 1);
  }
}

function countSelected(
  groups: readonly Group[],
  pods: number,
  { kind }: NodeState,
  ledger: Ledger,
  domainIn: DomainIn,
): void {
  for (const group of groups) {
    const domain = domainIn(group);
    if (domain === undefined || !looksAt(group, kind.values, kind.taints)) continue;
    ledger.addSelected(group, domain, pods);
    if (group.kind === 'affinity') ledger.addAnchor(group, domain, pods);
  }
}

function domainOf({ space }: Compiled, node: NodeState, { hostname, key }: Group): string | undefined {
  if (hostname) return node.host;
  const index = space.find(key);
  return index === undefined ? undefined : node.kind.values[index];
}

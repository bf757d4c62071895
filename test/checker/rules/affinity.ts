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

interface Unit {
  readonly podClass: PodClass;
  readonly node: FinalNode;
  readonly group: Group;
}

/**
 * Required pod affinity over the final placement. The scheduler lets a pod in where a selected pod is already, or, while
 * there is none anywhere, anywhere if it selects itself. So the question is whether some order of binding gets every pod
 * in: running pods first, then each group begun once, then pods without affinity. What stays out is a violation; the
 * commonest is a group begun in two domains, or on two claims whose domain is still open.
 */
export function checkAffinity(placement: Placement): Violation[] {
  const groups = new Map<string, Group>();
  const selectedBy = new Map<PodClass, Group[]>();
  const free: { podClass: PodClass; node: FinalNode }[] = [];
  let waiting: Unit[] = [];
  const running: { podClass: PodClass; node: FinalNode }[] = [];
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
  for (const podClass of spots.keys()) {
    selectedBy.set(
      podClass,
      [...groups.values()].filter((group) => group.selects(podClass)),
    );
  }
  const admit = (unit: { podClass: PodClass; node: FinalNode }): void => {
    for (const group of selectedBy.get(unit.podClass) ?? []) {
      group.total++;
      for (const key of tokens(group, unit.node)) group.there.set(key, (group.there.get(key) ?? 0) + 1);
    }
  };
  const settle = (): void => {
    for (let changed = true; changed;) {
      const before = waiting.length;
      waiting = waiting.filter((unit) => {
        if (!supported(unit)) return true;
        admit(unit);
        return false;
      });
      changed = waiting.length < before;
    }
  };
  const beginGroups = (): void => {
    for (let next = beginner(waiting, free); next !== undefined; next = beginner(waiting, free)) {
      admit(next);
      const begun = next;
      waiting = waiting.filter((unit) => unit !== begun);
      settle();
    }
  };
  running.forEach(admit);
  settle();
  beginGroups();
  free.forEach(admit);
  settle();
  beginGroups();
  return waiting.map(({ podClass, node, group }) => ({
    rule: 'pod-affinity',
    node: node.name,
    pod: podClass.example,
    message:
      group.total > 0
        ? `the pods that its affinity wants are in another ${group.terms.map((term) => term.topologyKey).join(', ')}`
        : 'no pod that its affinity wants is anywhere, and it does not select itself',
  }));
}

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

/** The domain of a node by term; a claim whose domain is open is a domain of its own. */
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

/** Whom to let begin its group: where most of the group is, rather not where pods without affinity will hold it anyway. */
function beginner(
  waiting: readonly Unit[],
  free: readonly { podClass: PodClass; node: FinalNode }[],
): Unit | undefined {
  const able = waiting.filter(
    ({ group, podClass, node }) =>
      group.total === 0 && group.selects(podClass) && tokens(group, node).length === group.terms.length,
  );
  const first = able[0];
  if (first === undefined) return undefined;
  const group = first.group;
  const held = new Set(
    free.filter(({ podClass }) => group.selects(podClass)).map(({ node }) => tokens(group, node).join()),
  );
  const size = new Map<string, number>();
  const mine = able.filter((unit) => unit.group === group);
  for (const unit of mine) {
    const at = tokens(group, unit.node).join();
    size.set(at, (size.get(at) ?? 0) + 1);
  }
  const score = (unit: Unit): number => {
    const at = tokens(group, unit.node).join();
    return (size.get(at) ?? 0) - (held.has(at) ? 1e9 : 0);
  };
  return mine.reduce((best, unit) => (score(unit) > score(best) ? unit : best), first);
}

import type { Cap } from '../bins/problem.js';
import { portsClash, type HostPort } from '../../core/host-ports.js';
import type { Profile } from '../compile/universe.js';
import type { Group } from '../topology/groups.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { selectsOwn } from './host-rules.js';
import { isSameList } from '../lists.js';
import type { Part } from './part.js';

/** Constraints that prevent parts from sharing one new node. */
export interface Exclusions {
  readonly caps: Cap[];
  readonly conflicts: (readonly [number, number])[];
}

/** The parts that have a rule by host name, and the parts that it selects. */
interface Reach {
  readonly owners: number[];
  readonly selected: number[];
  /** Bundles (parts whose pods share a node) with more than one pod that has the rule and is selected by it. */
  readonly bundles: number[];
}

/** Rules by host name and host ports, as caps on the contents of a bin and as pairs that cannot share a bin. */
export function exclusionsOf(parts: readonly Part[], book: RuleBook): Exclusions {
  const exclusions: Exclusions = { caps: [], conflicts: [] };
  const reaches = new Map<Group, Reach>();
  const reachOf = (group: Group): Reach => {
    let reach = reaches.get(group);
    if (reach === undefined) reaches.set(group, (reach = { owners: [], selected: [], bundles: [] }));
    return reach;
  };
  parts.forEach((part, item) => {
    for (const { podClass, level } of part.members) {
      const { hostSpread, hostAntiAffinity } = book.of(podClass.shape, level);
      for (const group of hostSpread) note(reachOf(group).owners, item);
      for (const group of hostAntiAffinity) note(reachOf(group).owners, item);
    }
    for (const { podClass, level } of part.members) {
      for (const group of book.of(podClass.shape, level).matched) {
        if (group.hostname && group.kind !== 'affinity') note(reachOf(group).selected, item);
      }
    }
    if (!part.together) return;
    for (const [group, pods] of bundled(part, book)) if (pods > 1) reachOf(group).bundles.push(item);
  });
  for (const [group, reach] of reaches) {
    if (reach.owners.length === 0) continue;
    const both = common(reach.owners, reach.selected);
    const profilesOf = (): readonly Profile[] => both.flatMap((item) => parts[item]!.riding ?? parts[item]!.profiles);
    addRule(exclusions, group, reach, {
      both,
      max: group.kind === 'spread' ? book.daemonPods.roomOnNew(group, profilesOf) : 1,
    });
  }
  addMutual(exclusions, reaches);
  addPorts(exclusions, parts);
  return exclusions;
}

/** Adds an item; they come in ascending order. */
function note(list: number[], item: number): void {
  if (list.at(-1) !== item) list.push(item);
}

/** By spread rule with the host name: how many pods of a bundle both have it and are selected by it. */
function bundled({ members }: Part, book: RuleBook): Map<Group, number> {
  const both = new Map<Group, number>();
  for (const { podClass, level, pods } of members) {
    const rules: Rules = book.of(podClass.shape, level);
    for (const group of rules.hostSpread) {
      if (selectsOwn(rules, group)) both.set(group, (both.get(group) ?? 0) + pods.length);
    }
  }
  return both;
}

/**
 * Turns a rule into caps and conflicts. Pods that a spread rule selects and that do not have it may be scheduled last, and pods
 * that have it and are not selected first. So only pods that are both limit each other. A cap counts a bundle once, so a bundle
 * with several such pods shares its node with no other of them. Anti-affinity holds in both orders.
 */
function addRule(
  { caps, conflicts }: Exclusions,
  group: Group,
  { owners, selected, bundles }: Reach,
  { both, max }: { readonly both: readonly number[]; readonly max: number },
): void {
  if (both.length > 0) caps.push({ items: Int32Array.from(both), max });
  for (const bundle of bundles) for (const item of both) if (item !== bundle) conflicts.push([bundle, item]);
  if (group.kind === 'spread') return;
  // Pods in both lists are already separated by the cap.
  const isBoth = new Set(both);
  const others = selected.filter((item) => !isBoth.has(item));
  for (const owner of owners) for (const item of isBoth.has(owner) ? others : selected) conflicts.push([owner, item]);
}

/**
 * Pods with different spread rules that select each other: the rule of the pod scheduled last must allow the number of
 * pods at that time, so the larger skew bounds all. Rare: most rules select only pods that have them.
 */
function addMutual(exclusions: Exclusions, reaches: ReadonlyMap<Group, Reach>): void {
  const mixed = [...reaches].filter(
    ([{ kind }, { owners, selected }]) => kind === 'spread' && owners.length > 0 && !isSameList(owners, selected),
  );
  if (mixed.length === 0) return;
  const rulesOf = spreadsOf(reaches);
  for (const [group, reach] of mixed) {
    const others = new Set(reach.selected.flatMap((item) => rulesOf.get(item) ?? []));
    const tighter = [...others].filter((other) => other !== group && other.maxSkew <= group.maxSkew);
    addShared(
      exclusions,
      group,
      reach,
      tighter.map((other) => reaches.get(other)!),
    );
  }
}

/** One cap for the pods with this rule and with rules of a lower skew. */
function addShared(
  { caps, conflicts }: Exclusions,
  { maxSkew: max }: Group,
  { owners, selected, bundles }: Reach,
  tighter: readonly Reach[],
): void {
  const both = common(owners, selected);
  const together = new Set(both);
  for (const other of tighter) {
    const own = common(both, other.selected);
    if (own.length === 0) continue;
    const theirs = common(common(other.owners, other.selected), selected);
    for (const bundle of bundles)
      conflicts.push(...theirs.filter((item) => item !== bundle).map((item) => [bundle, item] as const));
    if (own.length === both.length) for (const item of theirs) together.add(item);
    else caps.push({ items: ascending([...own, ...theirs]), max });
  }
  if (together.size > both.length) caps.push({ items: ascending(together), max });
}

/** By item: the spread rules that it has and is selected by. */
function spreadsOf(reaches: ReadonlyMap<Group, Reach>): Map<number, Group[]> {
  const rules = new Map<number, Group[]>();
  for (const [group, { owners, selected }] of reaches) {
    if (group.kind !== 'spread') continue;
    for (const item of common(owners, selected)) {
      const known = rules.get(item);
      if (known === undefined) rules.set(item, [group]);
      else known.push(group);
    }
  }
  return rules;
}

const ascending = (items: Iterable<number>): Int32Array => Int32Array.from(new Set(items)).sort();

/** The intersection of two ascending lists. */
function common(a: readonly number[], b: readonly number[]): number[] {
  const both: number[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) both.push(a[i]!);
    if (a[i]! <= b[j]!) i++;
    else j++;
  }
  return both;
}

/** Pods with the same host port on overlapping addresses need different nodes. */
function addPorts({ caps, conflicts }: Exclusions, parts: readonly Part[]): void {
  const users = new Map<number, { item: number; ports: HostPort[] }[]>();
  parts.forEach(({ members }, item) => {
    const ports = members.flatMap(({ podClass }) => podClass.shape.hostPorts);
    for (const number of new Set(ports.map(({ hostPort }) => hostPort))) {
      const own = ports.filter(({ hostPort }) => hostPort === number);
      const there = users.get(number);
      if (there === undefined) users.set(number, [{ item, ports: own }]);
      else there.push({ item, ports: own });
    }
  });
  for (const sharing of users.values()) {
    if (allClash(sharing)) {
      caps.push({ items: Int32Array.from(sharing, ({ item }) => item), max: 1 });
      continue;
    }
    sharing.forEach((left, i) => {
      caps.push({ items: Int32Array.of(left.item), max: 1 });
      for (const right of sharing.slice(i + 1)) {
        if (portsClash(left.ports, right.ports)) conflicts.push([left.item, right.item]);
      }
    });
  }
}

function allClash(sharing: readonly { ports: HostPort[] }[]): boolean {
  const kinds = new Map(sharing.map(({ ports }) => [JSON.stringify(ports), ports]));
  const distinct = [...kinds.values()];
  return distinct.every((left, i) => distinct.slice(i + 1).every((right) => portsClash(left, right)));
}

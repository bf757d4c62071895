import type { Cap } from '../bins/problem.js';
import { portsClash, type HostPort } from '../compile/pod-key.js';
import type { Group } from '../topology/groups.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import type { Part } from './part.js';

/** How parts limit each other on one new node. */
export interface Exclusions {
  readonly caps: Cap[];
  readonly conflicts: (readonly [number, number])[];
}

/** Parts that have a rule of the host name, and parts that it selects. */
interface Reach {
  readonly owners: number[];
  readonly selected: number[];
}

/**
 * Rules of the host name and host ports as caps: no pod of `items` beyond `max` in one bin, or, with `when`, in a bin that
 * holds one of those. They hold in whatever order the pods are bound.
 */
export function exclusionsOf(parts: readonly Part[], book: RuleBook): Exclusions {
  const exclusions: Exclusions = { caps: [], conflicts: [] };
  const reaches = new Map<Group, Reach>();
  const reachOf = (group: Group): Reach => {
    let reach = reaches.get(group);
    if (reach === undefined) reaches.set(group, (reach = { owners: [], selected: [] }));
    return reach;
  };
  parts.forEach((part, item) => {
    const owned = new Set<Group>();
    const selected = new Set<Group>();
    for (const { podClass, level } of part.members) {
      const rules: Rules = book.of(podClass.shape, level);
      for (const group of rules.hostSpread) owned.add(group);
      for (const group of rules.hostAntiAffinity) owned.add(group);
      for (const group of rules.matched) if (group.hostname && group.kind !== 'affinity') selected.add(group);
    }
    for (const group of owned) reachOf(group).owners.push(item);
    for (const group of selected) reachOf(group).selected.push(item);
  });
  for (const [group, reach] of reaches) if (reach.owners.length > 0) addRule(exclusions, group, reach);
  addPorts(exclusions, parts);
  return exclusions;
}

function addRule({ caps }: Exclusions, group: Group, { owners, selected }: Reach): void {
  const isOwner = new Set(owners);
  const isSelected = new Set(selected);
  const both = owners.filter((item) => isSelected.has(item));
  const max = group.kind === 'spread' ? group.maxSkew : 1;
  if (both.length > 0) caps.push({ items: Int32Array.from(both), max });
  if (selected.length === both.length && owners.length === both.length) return;
  const items = Int32Array.from(selected);
  if (items.length === 0) return;
  if (group.kind === 'spread') {
    if (selected.some((item) => !isOwner.has(item)) || owners.length > both.length) {
      caps.push({ items, max, when: Int32Array.from(owners) });
    }
    return;
  }
  const others = owners.filter((item) => !isSelected.has(item));
  if (both.length > 0) caps.push({ items, max: 1, when: Int32Array.from(both) });
  if (others.length > 0) caps.push({ items, max: 0, when: Int32Array.from(others) });
}

/** Pods that ask for one host port on clashing addresses go to different nodes. */
function addPorts({ caps, conflicts }: Exclusions, parts: readonly Part[]): void {
  const users = new Map<number, { item: number; ports: HostPort[] }[]>();
  parts.forEach(({ members }, item) => {
    const ports = members.flatMap(({ podClass }) => [...podClass.shape.hostPorts]);
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

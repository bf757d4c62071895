import { mapped } from '../lists.js';
import { hasBit } from './bits.js';
import type { CanonicalOrder } from './canonical-order.js';
import type { BinProblem } from './problem.js';

export interface MergedItems {
  /** The merged item of each item of the problem. */
  readonly of: Int32Array;
  readonly members: number[][];
  readonly pods: Int32Array;
  readonly capsOf: Int32Array[];
  readonly capMax: Int32Array;
  readonly conflictsOf: Int32Array[];
}

/**
 * Items alike in demand, allowed sets, caps and conflicts become one, so that search does not try equal things twice.
 * Two items that conflict with each other stay apart; an item that conflicts with itself gets a cap of its own.
 */
export function mergeItems(
  problem: BinProblem,
  setOf: Int32Array,
  openSets: readonly Uint32Array[],
  order: CanonicalOrder,
): MergedItems {
  const { items, dimensions } = problem;
  const caps = listPerItem(items.count, problem.caps.map((cap) => cap.items)); // prettier-ignore
  const capMax = problem.caps.map((cap) => cap.max);
  const conflicts: number[][] = Array.from({ length: items.count }, () => []);
  for (const [a, b] of problem.conflicts) {
    if (a === b) {
      caps[a]!.push(capMax.length);
      capMax.push(1);
    } else {
      conflicts[a]!.push(b);
      conflicts[b]!.push(a);
    }
  }

  const of = new Int32Array(items.count);
  const members: number[][] = [];
  // Equal demands of one set are next to each other in the order; what else must be alike is seldom anything.
  let known = new Map<string, number>();
  let before = -1;
  for (const i of order.items) {
    if (before < 0 || setOf[i] !== setOf[before] || !isDemandEqual(items.demand, dimensions, before, i)) {
      known = new Map<string, number>();
    }
    before = i;
    if (conflicts[i]!.length > 1) conflicts[i] = [...new Set(conflicts[i])].sort((a, b) => a - b);
    let key = '';
    if (caps[i]!.length > 0) key += `|c${caps[i]!.join()}`;
    if (conflicts[i]!.length > 0) key += `|x${conflicts[i]!.join()}`;
    if (openSets.length > 0) key += '|o' + openSets.map((bits) => (hasBit(bits, i) ? 1 : 0)).join('');
    let id = known.get(key);
    if (id === undefined) {
      id = members.length;
      known.set(key, id);
      members.push([]);
    }
    members[id]!.push(i);
    of[i] = id;
  }
  // Most lists are empty or alike: one array serves all of a kind.
  const shared = new Map<string, Int32Array>();
  const none = new Int32Array(0);
  const share = (list: readonly number[]): Int32Array => {
    if (list.length === 0) return none;
    const text = list.join();
    let array = shared.get(text);
    if (array === undefined) shared.set(text, (array = Int32Array.from(list)));
    return array;
  };
  return {
    of,
    members,
    pods: Int32Array.from(members, (list) => list.reduce((sum, i) => sum + items.pods[i]!, 0)),
    capsOf: mapped(members, (list) => share(caps[list[0]!]!)),
    capMax: Int32Array.from(capMax),
    conflictsOf: mapped(members, (list) => share([...new Set(conflicts[list[0]!]!.map((other) => of[other]!))])),
  };
}

function isDemandEqual(demand: Float64Array, dimensions: number, a: number, b: number): boolean {
  for (let d = 0; d < dimensions; d++) if (demand[a * dimensions + d] !== demand[b * dimensions + d]) return false;
  return true;
}

function listPerItem(count: number, groups: readonly Int32Array[]): number[][] {
  const lists: number[][] = Array.from({ length: count }, () => []);
  groups.forEach((group, g) => {
    for (const item of group) if (lists[item]!.at(-1) !== g) lists[item]!.push(g);
  });
  return lists;
}

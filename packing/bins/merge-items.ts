import { mapped } from '../lists.js';
import { hasBit } from './bits.js';
import type { SearchOrder } from './search-order.js';
import type { BinProblem } from './problem.js';

interface MergedItems {
  /** By item of the problem: its merged item. */
  readonly of: Int32Array;
  readonly members: number[][];
  readonly pods: Int32Array;
  readonly capsOf: Int32Array[];
  readonly capMax: Int32Array;
  readonly conflictsOf: Int32Array[];
}

/**
 * Merges items with equal demand, allowed sets, caps and conflicts, so that search does not try equal things twice. Two
 * items that conflict with each other are not merged; an item that conflicts with itself gets a separate cap.
 */
export function mergeItems(
  problem: BinProblem,
  setOf: Int32Array,
  openSets: readonly Uint32Array[],
  order: SearchOrder,
): MergedItems {
  const { items, dimensions } = problem;
  const { caps, capMax, conflicts } = exclusionsOf(problem);
  const of = new Int32Array(items.count);
  const members: number[][] = [];
  // Equal demands of one set are adjacent in the order; the other criteria seldom differ.
  const known = new Map<string, number>();
  let plain = -1;
  for (let k = 0, before = -1; k < order.items.length; before = order.items[k++]!) {
    const i = order.items[k]!;
    if (before < 0 || setOf[i] !== setOf[before] || !isDemandEqual(items.demand, dimensions, before, i)) {
      if (known.size > 0) known.clear();
      plain = -1;
    }
    let key = '';
    if (caps[i] !== undefined) key += `|c${caps[i].join()}`;
    if (conflicts[i] !== undefined) key += `|x${(conflicts[i] = ascending(conflicts[i])).join()}`;
    if (openSets.length > 0) key += '|o' + openSets.map((bits) => (hasBit(bits, i) ? 1 : 0)).join('');
    let id = key === '' ? plain : (known.get(key) ?? -1);
    if (id < 0) {
      id = members.push([i]) - 1;
      if (key === '') plain = id;
      else known.set(key, id);
    } else members[id]!.push(i);
    of[i] = id;
  }
  const share = sharing();
  return {
    of,
    members,
    pods: podsOf(members, items.pods),
    capsOf: mapped(members, ([first]) => share(caps[first!])),
    capMax: Int32Array.from(capMax),
    conflictsOf: mapped(members, ([first]) => {
      const others = conflicts[first!];
      return share(others === undefined ? undefined : [...new Set(others.map((other) => of[other]!))]);
    }),
  };
}

/** By item, where it has any: its caps, and the other items that it conflicts with. */
interface ItemExclusions {
  readonly caps: (number[] | undefined)[];
  readonly capMax: number[];
  readonly conflicts: (number[] | undefined)[];
}

function exclusionsOf({ items, caps: given, conflicts: pairs }: BinProblem): ItemExclusions {
  const caps: (number[] | undefined)[] = [];
  const conflicts: (number[] | undefined)[] = [];
  for (let i = 0; i < items.count; i++) {
    caps.push(undefined);
    conflicts.push(undefined);
  }
  const capMax = given.map(({ max }) => max);
  for (let cap = 0; cap < given.length; cap++) for (const item of given[cap]!.items) note(caps, item, cap);
  for (const [a, b] of pairs) {
    if (a === b) note(caps, a, capMax.push(1) - 1);
    else {
      note(conflicts, a, b);
      note(conflicts, b, a);
    }
  }
  return { caps, capMax, conflicts };
}

/** Appends to the item's list unless the entry is its last one already. */
function note(lists: (number[] | undefined)[], item: number, entry: number): void {
  const list = lists[item];
  if (list === undefined) lists[item] = [entry];
  else if (list[list.length - 1] !== entry) list.push(entry);
}

const ascending = (list: readonly number[]): number[] =>
  list.length === 1 ? [list[0]!] : [...new Set(list)].sort((a, b) => a - b);

function podsOf(members: readonly (readonly number[])[], pods: Int32Array): Int32Array {
  const sums = new Int32Array(members.length);
  for (let m = 0; m < members.length; m++) {
    const list = members[m]!;
    for (let k = 0; k < list.length; k++) sums[m] = sums[m]! + pods[list[k]!]!;
  }
  return sums;
}

/** Most lists are empty or equal: equal lists share one array. */
function sharing(): (list: readonly number[] | undefined) => Int32Array {
  const none = new Int32Array(0);
  const shared = new Map<string, Int32Array>();
  return (list) => {
    if (list === undefined) return none;
    const text = list.join();
    let array = shared.get(text);
    if (array === undefined) shared.set(text, (array = Int32Array.from(list)));
    return array;
  };
}

function isDemandEqual(demand: Float64Array, dimensions: number, a: number, b: number): boolean {
  for (let d = 0; d < dimensions; d++) if (demand[a * dimensions + d] !== demand[b * dimensions + d]) return false;
  return true;
}

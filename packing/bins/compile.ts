import { mapped } from '../lists.js';
import { hasBit, numberSets } from './bits.js';
import { keepOffers, type KeptOffers } from './dominance.js';
import { mergeItems } from './merge-items.js';
import type { BinProblem } from './problem.js';
import { refineSets } from './refine-sets.js';
import { searchOrder } from './search-order.js';

/**
 * A problem prepared for search: equal items merged, dominated offers dropped. A kind is a distinct demand; a shape is
 * a demand with an allowed set of offers. The items of one shape are consecutive, and so are the shapes of one kind.
 */
export interface CompiledProblem extends KeptOffers {
  /** Dimensions that some item demands. */
  readonly dims: number;

  readonly sets: number;

  readonly shapes: number;
  /** `demand[shape * dims + d]`. */
  readonly demand: Float64Array;
  readonly setOf: Int32Array;
  /** The items of shape `s` are `shapeStart[s]` up to `shapeStart[s + 1]`. */
  readonly shapeStart: Int32Array;

  readonly kinds: number;
  /** The shapes of kind `k` are `kindStart[k]` up to `kindStart[k + 1]`. */
  readonly kindStart: Int32Array;
  readonly kindOf: Int32Array;

  readonly items: number;
  readonly shapeOf: Int32Array;
  readonly pods: Int32Array;
  /** Items of the problem that each item stands for. */
  readonly members: readonly (readonly number[])[];
  readonly capsOf: readonly Int32Array[];
  readonly capMax: Int32Array;
  readonly conflictsOf: readonly Int32Array[];

  /**
   * `opens[offer * sets + set]`: whether an item of the set can open a bin of the offer. Each bin must hold at least
   * one such item. Absent: all items can.
   */
  readonly opens?: Uint8Array;

  /** By open bin: free amounts in the kept dimensions; undefined if a dropped dimension is negative. */
  readonly openFree: readonly (Float64Array | undefined)[];
  /** By open bin: index of its admission in `openSets`. */
  readonly openSetOf: Int32Array;
  /** Distinct admissions: `openSets[k][item]` is 1 where admitted. */
  readonly openSets: readonly Uint8Array[];
}

/** Offers that cost more than `ceiling` are left out: no packing of that price can use them. */
export function compileProblem(problem: BinProblem, ceiling = Infinity): CompiledProblem {
  const dimensions = usedDimensions(problem);
  const { openBins = [] } = problem;
  const sets = refineSets(problem);
  const order = searchOrder(problem, sets.of);
  const openSets = numberSets(openBins.map((bin) => bin.allowed));
  const merged = mergeItems(problem, sets.of, openSets.distinct, order);
  const kept = keepOffers(problem, dimensions, sets, order, ceiling);
  const items = merged.members.length;
  const representative = mapped(merged.members, (list) => list[0]!);

  const shapeOf = new Int32Array(items);
  const starts: number[] = [];
  const kindStarts: number[] = [];
  for (let i = 0, before = -1; i < items; before = representative[i++]!) {
    const item = representative[i]!;
    const sameKind = before >= 0 && compareDemand(problem, dimensions, before, item) === 0;
    if (!sameKind) kindStarts.push(starts.length);
    if (!sameKind || sets.of[before] !== sets.of[item]) starts.push(i);
    shapeOf[i] = starts.length - 1;
  }
  const shapes = starts.length;
  const dims = dimensions.length;
  const demand = new Float64Array(shapes * dims);
  const setOf = new Int32Array(shapes);
  for (let s = 0; s < shapes; s++) {
    const origin = representative[starts[s]!]!;
    for (let d = 0; d < dims; d++) {
      demand[s * dims + d] = problem.items.demand[origin * problem.dimensions + dimensions[d]!]!;
    }
    setOf[s] = sets.of[origin]!;
  }

  const kindOf = new Int32Array(shapes);
  kindStarts.forEach((start, k) => kindOf.fill(k, start, kindStarts[k + 1] ?? shapes));

  return {
    dims,
    ...kept,
    sets: sets.offersOfSet.length,
    shapes,
    demand,
    setOf,
    shapeStart: Int32Array.from([...starts, items]),
    kinds: kindStarts.length,
    kindStart: Int32Array.from([...kindStarts, shapes]),
    kindOf,
    items,
    shapeOf,
    pods: merged.pods,
    members: merged.members,
    capsOf: merged.capsOf,
    capMax: merged.capMax,
    conflictsOf: merged.conflictsOf,
    openFree: openBins.map((bin) => {
      const overdrawn = bin.free.some((amount, d) => amount < 0 && !dimensions.includes(d));
      return overdrawn ? undefined : Float64Array.from(dimensions, (d) => bin.free[d]!);
    }),
    openSetOf: openSets.of,
    openSets: openSets.distinct.map((bits) => Uint8Array.from(representative, (item) => (hasBit(bits, item) ? 1 : 0))),
  };
}

function usedDimensions(problem: BinProblem): number[] {
  const used: number[] = [];
  for (let d = 0; d < problem.dimensions; d++) {
    for (let i = 0; i < problem.items.count; i++) {
      if (problem.items.demand[i * problem.dimensions + d]! > 0) {
        used.push(d);
        break;
      }
    }
  }
  return used;
}

function compareDemand(problem: BinProblem, dimensions: readonly number[], a: number, b: number): number {
  const { demand } = problem.items;
  for (let k = 0; k < dimensions.length; k++) {
    const d = dimensions[k]!;
    const difference = demand[b * problem.dimensions + d]! - demand[a * problem.dimensions + d]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

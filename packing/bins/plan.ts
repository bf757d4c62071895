import type { Compiled } from './compile.js';
import type { BinProblem, BinSolution } from './problem.js';

/** Equal bins: each holds `pods[k]` of `items[k]` on `offer`, `times` over. */
export interface Stack {
  offer: number;
  items: Int32Array;
  pods: Int32Array;
  times: number;
}

/** A packing of the compiled problem. */
export interface Packing {
  readonly stacks: readonly Stack[];
  /** By open bin; undefined where nothing came. */
  readonly filled: readonly (Stack | undefined)[];
  /** Pods left over, by compiled item. */
  readonly left: Int32Array;
}

export function priceOf(compiled: Compiled, stacks: readonly Stack[]): number {
  let price = 0;
  for (const stack of stacks) price += stack.times * compiled.price[stack.offer]!;
  return price;
}

export const binsIn = (stacks: readonly Stack[]): number => stacks.reduce((sum, { times }) => sum + times, 0);

/** Gives the pods of merged items back to the items of the problem, in order, and writes equal bins out one by one. */
export function expand(problem: BinProblem, compiled: Compiled, packing: Packing): BinSolution {
  const member = new Int32Array(compiled.items);
  const remaining = Int32Array.from(problem.items.pods);
  const give = (stack: Stack): { items: Int32Array; pods: Int32Array } => {
    const items: number[] = [];
    const pods: number[] = [];
    for (let k = 0; k < stack.items.length; k++) {
      const item = stack.items[k]!;
      const members = compiled.members[item]!;
      let wanted = stack.pods[k]!;
      while (wanted > 0) {
        const origin = members[member[item]!]!;
        const taken = Math.min(wanted, remaining[origin]!);
        if (taken > 0) {
          items.push(origin);
          pods.push(taken);
          remaining[origin] = remaining[origin]! - taken;
          wanted -= taken;
        }
        if (remaining[origin] === 0) member[item] = member[item]! + 1;
      }
    }
    return { items: Int32Array.from(items), pods: Int32Array.from(pods) };
  };
  const nothing = { items: new Int32Array(0), pods: new Int32Array(0) };
  const filled = packing.filled.map((stack) => (stack === undefined ? nothing : give(stack)));
  const bins = [];
  let price = 0;
  for (const stack of packing.stacks) {
    const offer = compiled.offerOrigin[stack.offer]!;
    for (let n = 0; n < stack.times; n++) {
      bins.push({ offer, ...give(stack) });
      price += problem.offers.price[offer]!;
    }
  }
  return { bins, filled, unplaced: remaining, price };
}

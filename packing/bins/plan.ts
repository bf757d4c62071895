import type { CompiledProblem } from './compile.js';
import type { Bin, BinProblem, BinSolution } from './problem.js';

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

export function priceOf(compiled: CompiledProblem, stacks: readonly Stack[]): number {
  let price = 0;
  for (const stack of stacks) price += stack.times * compiled.price[stack.offer]!;
  return price;
}

export const binsIn = (stacks: readonly Stack[]): number => stacks.reduce((sum, { times }) => sum + times, 0);

/** Gives the pods of merged items back to the items of the problem, in order, and writes equal bins out one by one. */
export function expand(problem: BinProblem, compiled: CompiledProblem, packing: Packing): BinSolution {
  const purse = new Purse(compiled, problem.items.pods);
  const filled = packing.filled.map((stack) => (stack === undefined ? nothing : purse.give(stack)));
  const bins: Bin[] = [];
  let price = 0;
  for (const stack of packing.stacks) {
    const offer = compiled.offerOrigin[stack.offer]!;
    for (let n = 0; n < stack.times; n++) {
      const { items, pods } = purse.give(stack);
      bins.push({ offer, items, pods });
      price += problem.offers.price[offer]!;
    }
  }
  return { bins, filled, unplaced: purse.remaining, price };
}

const nothing = { items: new Int32Array(0), pods: new Int32Array(0) };

/** The pods of a problem while they are given out. */
class Purse {
  /** By item of the problem. */
  readonly remaining: Int32Array;
  /** By compiled item: which of its members gives next. */
  private readonly member: Int32Array;
  /** What is given: every member once at most. */
  private readonly items: Int32Array;
  private readonly pods: Int32Array;

  constructor(
    private readonly compiled: CompiledProblem,
    pods: Int32Array,
  ) {
    this.remaining = Int32Array.from(pods);
    this.member = new Int32Array(compiled.items);
    this.items = new Int32Array(pods.length);
    this.pods = new Int32Array(pods.length);
  }

  give(stack: Stack): Pick<Bin, 'items' | 'pods'> {
    const { compiled, remaining, member, items, pods } = this;
    let size = 0;
    for (let k = 0; k < stack.items.length; k++) {
      const item = stack.items[k]!;
      const members = compiled.members[item]!;
      let wanted = stack.pods[k]!;
      while (wanted > 0) {
        const origin = members[member[item]!]!;
        const taken = Math.min(wanted, remaining[origin]!);
        if (taken > 0) {
          items[size] = origin;
          pods[size++] = taken;
          remaining[origin] = remaining[origin]! - taken;
          wanted -= taken;
        }
        if (remaining[origin] === 0) member[item] = member[item]! + 1;
      }
    }
    return { items: items.slice(0, size), pods: pods.slice(0, size) };
  }
}

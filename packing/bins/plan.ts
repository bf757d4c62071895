import type { CompiledProblem } from './compile.js';
import type { Bin, BinProblem, BinSolution } from './problem.js';

/** Equal bins: each holds `pods[k]` of `items[k]` on `offer`, `times` over. */
export interface BinGroup {
  offer: number;
  items: Int32Array;
  pods: Int32Array;
  times: number;
}

/** A packing of the compiled problem. */
export interface Packing {
  readonly groups: readonly BinGroup[];
  /** Pods left over, by compiled item. */
  readonly left: Int32Array;
}

export function priceOf(compiled: CompiledProblem, groups: readonly BinGroup[]): number {
  let price = 0;
  for (const group of groups) price += group.times * compiled.price[group.offer]!;
  return price;
}

export const binsIn = (groups: readonly BinGroup[]): number => groups.reduce((sum, { times }) => sum + times, 0);

/**
 * Expands a packing of the compiled problem: distributes the pods of merged items over the items of the problem, in
 * order, and lists equal bins one by one.
 */
export function expand(problem: BinProblem, compiled: CompiledProblem, packing: Packing): BinSolution {
  const memberPods = new MemberPods(compiled, problem.items.pods);
  const bins: Bin[] = [];
  let price = 0;
  for (const group of packing.groups) {
    const offer = compiled.offerOrigin[group.offer]!;
    for (let n = 0; n < group.times; n++) {
      const { items, pods } = memberPods.take(group);
      bins.push({ offer, items, pods });
      price += problem.offers.price[offer]!;
    }
  }
  return { bins, unplaced: memberPods.remaining, price };
}

/** Distributes the pods of merged items to the items of the problem. */
class MemberPods {
  /** By item of the problem. */
  readonly remaining: Int32Array;
  /** By compiled item: index of its next member. */
  private readonly member: Int32Array;
  /** Scratch space of `take`. */
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

  take(group: BinGroup): Pick<Bin, 'items' | 'pods'> {
    const { compiled, remaining, member, items, pods } = this;
    let size = 0;
    for (let k = 0; k < group.items.length; k++) {
      const item = group.items[k]!;
      const members = compiled.members[item]!;
      let wanted = group.pods[k]!;
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

import type { Builder } from './builder.js';
import type { Stack } from './plan.js';
import { priceOf } from './plan.js';

/** Bins torn down together at most. */
const widest = 4;

/**
 * Tears down a few bins at a time, those that waste most more often, and packs their pods anew; keeps what costs less, or
 * costs the same with fewer bins. A stack of equal bins is improved all at once. Ends when `units` of work are done.
 */
export class LocalSearch {
  private state = 0x2545f491;
  private readonly waste: number[] = [];
  private total = 0;
  private price: number;
  private readonly left: Int32Array;

  constructor(
    private readonly builder: Builder,
    private readonly stacks: Stack[],
  ) {
    this.left = new Int32Array(builder.compiled.items);
    for (const stack of stacks) this.track(stack);
    this.price = priceOf(builder.compiled, stacks);
  }

  /** Searches until the units are used up, the price is down to `target`, or nothing has come of many attempts. */
  run(units: number, target: number): void {
    const { builder, stacks } = this;
    const end = builder.work + units;
    let idle = 0;
    while (this.price > target && builder.work < end && idle < 60 + 40 * stacks.length) {
      idle = this.attempt() ? 0 : idle + 1;
      builder.market.work += 40;
    }
  }

  private attempt(): boolean {
    const { builder, stacks } = this;
    const chosen = new Map<number, number>();
    const wanted = 1 + (this.next() % widest);
    let bins = 0;
    for (let n = 0; n < wanted; n++) {
      const k = this.pick(n === 0);
      const used = chosen.get(k) ?? 0;
      if (used >= stacks[k]!.times) continue;
      chosen.set(k, used + 1);
      bins++;
    }
    const { compiled } = builder;
    const { ledger } = builder.market;
    let copies = compiled.limitRemaining.length > 0 ? 1 : 0x7fffffff;
    let before = 0;
    const items = new Set<number>();
    for (const [k, used] of chosen) {
      const stack = stacks[k]!;
      copies = Math.min(copies, Math.floor(stack.times / used));
      before += used * builder.market.compiled.price[stack.offer]!;
      ledger.use(stack.offer, -used);
      stack.items.forEach((item, j) => {
        items.add(item);
        this.left[item] = this.left[item]! + used * stack.pods[j]!;
      });
    }
    const sorted = Int32Array.from(items).sort();
    const out: Stack[] = [];
    const after = builder.rebuild(sorted, this.left, out, before, this.next());
    let made = 0;
    for (const stack of out) made += stack.times;
    const better = after < before - 1e-9 || (after <= before + 1e-12 && made < bins);
    for (const item of sorted) this.left[item] = 0;
    if (!better) {
      for (const stack of out) ledger.use(stack.offer, -stack.times);
      for (const [k, used] of chosen) ledger.use(stacks[k]!.offer, used);
      return false;
    }
    this.replace(chosen, copies, out);
    this.price -= copies * (before - after);
    return true;
  }

  private replace(chosen: Map<number, number>, copies: number, out: Stack[]): void {
    const { stacks } = this;
    const emptied: number[] = [];
    for (const [k, used] of chosen) {
      stacks[k]!.times -= used * copies;
      if (stacks[k]!.times === 0) emptied.push(k);
    }
    emptied.sort((a, b) => b - a);
    for (const k of emptied) {
      this.total -= this.waste[k]!;
      const last = stacks.length - 1;
      stacks[k] = stacks[last]!;
      this.waste[k] = this.waste[last]!;
      stacks.length = this.waste.length = last;
    }
    for (const stack of out) {
      stack.times *= copies;
      stacks.push(stack);
      this.track(stack);
    }
  }

  private track(stack: Stack): void {
    const { builder } = this;
    let worth = 0;
    stack.items.forEach(
      (item, k) => (worth += stack.pods[k]! * builder.market.worth[builder.compiled.shapeOf[item]!]!),
    );
    const price = builder.compiled.price[stack.offer]!;
    const waste = Math.max(price - worth, 0) + 0.02 * price;
    this.waste.push(waste);
    this.total += waste;
  }

  /** A stack: by waste, or any. */
  private pick(byWaste: boolean): number {
    const { waste } = this;
    if (!byWaste && this.next() % 3 === 0) return this.next() % waste.length;
    let at = (this.next() / 0x7fffffff) * this.total;
    for (let k = 0; k < waste.length; k++) {
      at -= waste[k]!;
      if (at <= 0) return k;
    }
    return this.next() % waste.length;
  }

  /** Xorshift: the same numbers for the same problem. */
  private next(): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x | 0;
    return x & 0x7fffffff;
  }
}

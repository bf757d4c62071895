import { Xorshift } from '../xorshift.js';
import type { Builder } from './builder.js';
import type { Stack } from './plan.js';
import { priceOf } from './plan.js';

/** Bins torn down together at most. */
const widest = 4;

/** So many bins of a stack that are torn down. */
interface Chosen {
  readonly stack: Stack;
  used: number;
}

const binsOf = (chosen: readonly Chosen[]): number => chosen.reduce((sum, { used }) => sum + used, 0);

/**
 * Tears down a few bins at a time, those that waste most more often, and packs their pods anew; keeps what costs less, or
 * costs the same with fewer bins. A stack of equal bins is improved all at once. Ends when `units` of work are done.
 */
export class LocalSearch {
  private readonly random = new Xorshift(0x2545f491);
  private readonly waste: number[] = [];
  private total = 0;
  private price: number;
  private readonly left: Int32Array;
  /** Scratch space of `itemsOut`. */
  private readonly seen: Uint8Array;
  private readonly list: Int32Array;

  constructor(
    private readonly builder: Builder,
    private readonly stacks: Stack[],
  ) {
    this.left = new Int32Array(builder.compiled.items);
    this.seen = new Uint8Array(builder.compiled.items);
    this.list = new Int32Array(builder.compiled.items);
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
    const { builder, left } = this;
    const chosen = this.choose();
    const { ledger } = builder.market;
    const before = this.takeOut(chosen);
    const items = this.itemsOut(chosen);
    const out: Stack[] = [];
    const after = builder.rebuild(items, left, out, before, this.random.next());
    let made = 0;
    for (const stack of out) made += stack.times;
    const better = after < before - 1e-9 || (after <= before + 1e-12 && made < binsOf(chosen));
    for (let k = 0; k < items.length; k++) left[items[k]!] = 0;
    if (!better) {
      for (const stack of out) ledger.use(stack.offer, -stack.times);
      for (const { stack, used } of chosen) ledger.use(stack.offer, used);
      return false;
    }
    const copies = this.copiesOf(chosen);
    this.replace(chosen, copies, out);
    this.price -= copies * (before - after);
    return true;
  }

  /** Some bins, at most `widest`. */
  private choose(): Chosen[] {
    const { stacks } = this;
    const chosen: Chosen[] = [];
    const wanted = 1 + (this.random.next() % widest);
    for (let n = 0; n < wanted; n++) {
      const stack = stacks[this.pick(n === 0)]!;
      const known = chosen.find((each) => each.stack === stack);
      if (known === undefined) chosen.push({ stack, used: 1 });
      else if (known.used < stack.times) known.used++;
    }
    return chosen;
  }

  /** Puts the pods of these bins into `left`; what the bins cost. */
  private takeOut(chosen: readonly Chosen[]): number {
    const { builder, left } = this;
    const { compiled, ledger } = builder.market;
    let price = 0;
    for (const { stack, used } of chosen) {
      const { offer, items, pods } = stack;
      price += used * compiled.price[offer]!;
      ledger.use(offer, -used);
      for (let k = 0; k < items.length; k++) left[items[k]!] = left[items[k]!]! + used * pods[k]!;
    }
    return price;
  }

  /** What is in these bins, ascending. */
  private itemsOut(chosen: readonly Chosen[]): Int32Array {
    const { seen, list } = this;
    let size = 0;
    for (const { stack } of chosen) {
      for (let k = 0; k < stack.items.length; k++) {
        const item = stack.items[k]!;
        if (seen[item] === 1) continue;
        seen[item] = 1;
        list[size++] = item;
      }
    }
    for (let k = 0; k < size; k++) seen[list[k]!] = 0;
    return list.slice(0, size).sort();
  }

  /** How often over these bins can be replaced. */
  private copiesOf(chosen: readonly Chosen[]): number {
    let copies = this.builder.compiled.limitRemaining.length > 0 ? 1 : 0x7fffffff;
    for (const { stack, used } of chosen) copies = Math.min(copies, Math.floor(stack.times / used));
    return copies;
  }

  private replace(chosen: readonly Chosen[], copies: number, out: Stack[]): void {
    const { stacks, waste } = this;
    for (const { stack, used } of chosen) stack.times -= used * copies;
    for (let k = stacks.length - 1; k >= 0; k--) {
      if (stacks[k]!.times > 0) continue;
      this.total -= waste[k]!;
      const last = stacks.length - 1;
      stacks[k] = stacks[last]!;
      waste[k] = waste[last]!;
      stacks.length = waste.length = last;
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
    if (!byWaste && this.random.next() % 3 === 0) return this.random.next() % waste.length;
    let at = (this.random.next() / 0x7fffffff) * this.total;
    for (let k = 0; k < waste.length; k++) {
      at -= waste[k]!;
      if (at <= 0) return k;
    }
    return this.random.next() % waste.length;
  }
}

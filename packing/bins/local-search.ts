import { Xorshift } from '../xorshift.js';
import type { Builder } from './builder.js';
import type { BinGroup } from './plan.js';
import { priceOf } from './plan.js';

/** Maximum number of bins torn down at once. */
const mostTornDown = 4;

/** A number of equal bins of one group that are torn down. */
interface Chosen {
  readonly group: BinGroup;
  used: number;
}

const binsOf = (chosen: readonly Chosen[]): number => chosen.reduce((sum, { used }) => sum + used, 0);

/**
 * Tears down a few bins at a time, preferring those with most waste, and packs their pods anew. The result is kept if
 * it costs less, or the same with fewer bins. Equal bins of a group are replaced together. Bounded by units of work.
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
    private readonly groups: BinGroup[],
  ) {
    this.left = new Int32Array(builder.compiled.items);
    this.seen = new Uint8Array(builder.compiled.items);
    this.list = new Int32Array(builder.compiled.items);
    for (const group of groups) this.track(group);
    this.price = priceOf(builder.compiled, groups);
  }

  /** Runs until the units are used, the price is at most `target`, or many attempts in a row have failed. */
  run(units: number, target: number): void {
    const { builder, groups } = this;
    const end = builder.work + units;
    let idle = 0;
    while (this.price > target && builder.work < end && idle < 60 + 40 * groups.length) {
      idle = this.attempt() ? 0 : idle + 1;
      builder.valuation.work += 40;
    }
  }

  private attempt(): boolean {
    const { builder, left } = this;
    const chosen = this.choose();
    const { limitUsage } = builder.valuation;
    const before = this.takeOut(chosen);
    const items = this.itemsOut(chosen);
    const out: BinGroup[] = [];
    const after = builder.rebuild(items, left, out, before, this.random.next());
    let made = 0;
    for (const group of out) made += group.times;
    const better = after < before - 1e-9 || (after <= before + 1e-12 && made < binsOf(chosen));
    for (let k = 0; k < items.length; k++) left[items[k]!] = 0;
    if (!better) {
      for (const group of out) limitUsage.use(group.offer, -group.times);
      for (const { group, used } of chosen) limitUsage.use(group.offer, used);
      return false;
    }
    const copies = this.copiesOf(chosen);
    this.replace(chosen, copies, out);
    this.price -= copies * (before - after);
    return true;
  }

  /** Chooses at most `mostTornDown` bins. */
  private choose(): Chosen[] {
    const { groups } = this;
    const chosen: Chosen[] = [];
    const wanted = 1 + (this.random.next() % mostTornDown);
    for (let n = 0; n < wanted; n++) {
      const group = groups[this.pick(n === 0)]!;
      const known = chosen.find((each) => each.group === group);
      if (known === undefined) chosen.push({ group, used: 1 });
      else if (known.used < group.times) known.used++;
    }
    return chosen;
  }

  /** Moves the pods of these bins into `left`; returns the price of the bins. */
  private takeOut(chosen: readonly Chosen[]): number {
    const { builder, left } = this;
    const { compiled, limitUsage } = builder.valuation;
    let price = 0;
    for (const { group, used } of chosen) {
      const { offer, items, pods } = group;
      price += used * compiled.price[offer]!;
      limitUsage.use(offer, -used);
      for (let k = 0; k < items.length; k++) left[items[k]!] = left[items[k]!]! + used * pods[k]!;
    }
    return price;
  }

  /** The items of these bins, ascending. */
  private itemsOut(chosen: readonly Chosen[]): Int32Array {
    const { seen, list } = this;
    let size = 0;
    for (const { group } of chosen) {
      for (let k = 0; k < group.items.length; k++) {
        const item = group.items[k]!;
        if (seen[item] === 1) continue;
        seen[item] = 1;
        list[size++] = item;
      }
    }
    for (let k = 0; k < size; k++) seen[list[k]!] = 0;
    return list.slice(0, size).sort();
  }

  /** How many times the groups contain this combination of bins, so that all occurrences are replaced together. */
  private copiesOf(chosen: readonly Chosen[]): number {
    let copies = this.builder.compiled.limitRemaining.length > 0 ? 1 : 0x7fffffff;
    for (const { group, used } of chosen) copies = Math.min(copies, Math.floor(group.times / used));
    return copies;
  }

  private replace(chosen: readonly Chosen[], copies: number, out: BinGroup[]): void {
    const { groups, waste } = this;
    for (const { group, used } of chosen) group.times -= used * copies;
    for (let k = groups.length - 1; k >= 0; k--) {
      if (groups[k]!.times > 0) continue;
      this.total -= waste[k]!;
      const last = groups.length - 1;
      groups[k] = groups[last]!;
      waste[k] = waste[last]!;
      groups.length = waste.length = last;
    }
    for (const group of out) {
      group.times *= copies;
      groups.push(group);
      this.track(group);
    }
  }

  private track(group: BinGroup): void {
    const { builder } = this;
    let worth = 0;
    group.items.forEach(
      (item, k) => (worth += group.pods[k]! * builder.valuation.worth[builder.compiled.shapeOf[item]!]!),
    );
    const price = builder.compiled.price[group.offer]!;
    const waste = Math.max(price - worth, 0) + 0.02 * price;
    this.waste.push(waste);
    this.total += waste;
  }

  /** A random group: weighted by waste, or uniform. */
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

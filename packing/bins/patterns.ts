import { Xorshift } from '../xorshift.js';
import type { CompiledProblem } from './compile.js';
import type { Knapsack } from './knapsack.js';
import { LimitUsage } from './limits.js';
import { PatternProgram, type Solved } from './pattern-program.js';
import type { BinGroup } from './plan.js';
import { binsIn, priceOf } from './plan.js';
import { isOpened } from './openers.js';

/** Rounds of column generation for the pods that remain after some bins are fixed. */
const laterRounds = 6;
/** Patterns with at least this fraction of a bin are rounded up to whole bins; the highest one always is. */
const nearlyWhole = 0.7;
/** The relaxation must cost at most this share of the known price, otherwise rounding it gains nothing. */
const promisingShare = 0.998;
/** Maximum number of items whose bins are packed at once: the work of a program grows with the cube of its rows. */
const mostRows = 80;

/**
 * Improves a packing by column generation. The columns are patterns of whole bins, which respect caps and conflicts.
 * The solution of the linear program is rounded down to whole bins and the program is solved again for the remaining
 * pods, repeatedly. Runs for all bins at once if they have few items, otherwise for some of them at a time, preferring
 * those with most waste.
 */
export class PatternSearch {
  readonly groups: BinGroup[];
  price: number;
  private readonly random = new Xorshift(0x2545f491);
  private readonly limitUsage: LimitUsage;
  private readonly program: PatternProgram;
  private readonly left: Int32Array;

  /** `tried`: bins of other packings, as initial patterns. */
  constructor(
    private readonly compiled: CompiledProblem,
    private readonly items: Int32Array,
    private readonly worth: Float64Array,
    { knapsack, groups, tried }: { knapsack: Knapsack; groups: readonly BinGroup[]; tried: readonly BinGroup[] },
  ) {
    this.groups = groups.map((group) => ({ ...group }));
    this.price = priceOf(compiled, groups);
    this.left = new Int32Array(compiled.items);
    this.limitUsage = new LimitUsage(compiled);
    for (const { offer, times } of groups) this.limitUsage.use(offer, times);
    this.program = new PatternProgram(compiled, this.limitUsage, knapsack, groups);
    for (const group of tried) this.program.add(group);
  }

  /** Repacks bins until the units are used, the price is at most `target`, or no repacking is cheaper. */
  run(units: number, target: number): void {
    const { program, groups } = this;
    const end = program.work + units;
    for (let idle = 0; this.price > target && program.work < end && idle < groups.length;) {
      const chosen = this.choose();
      const isWhole = chosen.length === groups.length;
      idle = this.improve(chosen, end) ? 0 : idle + chosen.length / 4;
      if (isWhole) break;
    }
  }

  /** Chooses groups that have few items in total. */
  private choose(): BinGroup[] {
    const { groups, random, compiled } = this;
    const first = groups[random.next() % groups.length]!;
    const supply = compiled.supply.of[first.offer]!;
    const ranked = groups.map((group) => {
      const isAlike = compiled.supply.of[group.offer] === supply;
      return {
        group,
        rank: group === first ? -1 : ((isAlike ? 1 : 3) * random.next()) / (this.wasteOf(group) + 1e-12),
      };
    });
    ranked.sort((a, b) => a.rank - b.rank);
    const seen = new Set<number>();
    const chosen: BinGroup[] = [];
    for (const { group } of ranked) {
      for (const item of group.items) seen.add(item);
      if (seen.size > mostRows && chosen.length > 1) break;
      chosen.push(group);
    }
    return chosen;
  }

  private wasteOf({ offer, items, pods }: BinGroup): number {
    const { price, dims, demand, shapeOf, setOf } = this.compiled;
    let worth = 0;
    items.forEach((item, k) => {
      const shape = shapeOf[item]!;
      for (let d = 0; d < dims; d++)
        worth += pods[k]! * demand[shape * dims + d]! * this.worth[setOf[shape]! * dims + d]!;
    });
    return Math.max(0, price[offer]! - worth) + 0.02 * price[offer]!;
  }

  /** Repacks the pods of these bins; keeps the result if it is better, and returns whether it is. */
  private improve(chosen: readonly BinGroup[], until: number): boolean {
    const { left, compiled, limitUsage, groups } = this;
    left.fill(0);
    for (const { offer, items, pods, times } of chosen) {
      items.forEach((item, k) => (left[item] = left[item]! + times * pods[k]!));
      limitUsage.use(offer, -times);
    }
    const before = priceOf(compiled, chosen);
    const found: BinGroup[] = [];
    const isDone = this.dive(before, found, until);
    const after = priceOf(compiled, found);
    const isBetter = isDone && (after < before - 1e-9 || (after <= before + 1e-12 && binsIn(found) < binsIn(chosen)));
    if (!isBetter) {
      for (const { offer, times } of found) limitUsage.use(offer, -times);
      for (const { offer, times } of chosen) limitUsage.use(offer, times);
      return false;
    }
    const gone = new Set(chosen);
    const kept = groups.filter((group) => !gone.has(group));
    groups.length = 0;
    groups.push(...kept, ...found);
    for (const group of found) this.program.add(group);
    this.price += after - before;
    return true;
  }

  /** Packs the remaining pods into `found`; returns whether all are packed. */
  private dive(price: number, found: BinGroup[], until: number): boolean {
    const { left, program, compiled } = this;
    let rows = this.items.filter((item) => left[item]! > 0);
    let solved = program.solve(rows, left, until);
    if (solved === undefined || solved.cost > price * promisingShare) return false;
    for (;;) {
      if (!this.takeWholeBins(solved.levels, found)) return false;
      rows = rows.filter((item) => left[item]! > 0);
      if (rows.length === 0) return true;
      solved = program.solve(rows, left, Infinity, laterRounds);
      if (solved === undefined || priceOf(compiled, found) + solved.cost >= price) return false;
    }
  }

  /**
   * Fixes the whole and nearly whole bins of the solution, or else the pattern with the highest fraction; returns false
   * if there is none.
   */
  private takeWholeBins(levels: Solved['levels'], found: BinGroup[]): boolean {
    const { program, limitUsage } = this;
    const fractions: { readonly place: number; readonly level: number }[] = [];
    let some = false;
    for (const [place, level] of levels) {
      const times = Math.min(Math.floor(level + 1e-6), this.mostOf(place));
      if (times > 0) {
        this.take(place, times, found);
        some = true;
      }
      if (level - times > 1e-6) fractions.push({ place, level: level - times });
    }
    fractions.sort((a, b) => b.level - a.level || a.place - b.place);
    for (const { place, level } of fractions) {
      if (level < nearlyWhole) break;
      if (this.mostOf(place) < 1) continue;
      this.take(place, 1, found);
      some = true;
    }
    if (some) return true;
    const surest = fractions.find(
      ({ place }) => limitUsage.allows(program.pool[place]!.offer) && this.opensStill(place),
    );
    if (surest !== undefined) this.take(surest.place, 1, found);
    return surest !== undefined;
  }

  /** Whether an item that can open the bin is left. */
  private opensStill(place: number): boolean {
    const { offer, items } = this.program.pool[place]!;
    return isOpened(this.compiled, offer, items, (item) => this.left[item]! > 0);
  }

  /** How many bins of the pattern the remaining pods fill and limits allow. */
  private mostOf(place: number): number {
    const { offer, items, pods } = this.program.pool[place]!;
    const most = this.limitUsage.most(offer);
    return items.reduce((least, item, k) => Math.min(least, Math.floor(this.left[item]! / pods[k]!)), most);
  }

  /** Fixes bins of the pattern, each as the cheapest offer that holds its content. */
  private take(place: number, times: number, found: BinGroup[]): void {
    const { left } = this;
    const pattern = this.program.pool[place]!;
    const inside = [...pattern.items.keys()].filter((k) => left[pattern.items[k]!]! > 0);
    const items = Int32Array.from(inside, (k) => pattern.items[k]!);
    const pods = Int32Array.from(inside, (k) => Math.min(pattern.pods[k]!, left[pattern.items[k]!]!));
    items.forEach((item, k) => (left[item] = left[item]! - times * pods[k]!));
    const offer = this.cheapest(pattern.offer, items, pods, times);
    this.limitUsage.use(offer, times);
    found.push({ offer, items, pods, times });
  }

  /** The cheapest offer that holds the content and of which limits allow `times` bins; `offer` is one. */
  private cheapest(offer: number, items: Int32Array, pods: Int32Array, times: number): number {
    const { dims, demand, shapeOf, setOf, inSet, sets, capacity, price } = this.compiled;
    const content = new Float64Array(dims);
    items.forEach((item, k) => {
      for (let d = 0; d < dims; d++) content[d] = content[d]! + pods[k]! * demand[shapeOf[item]! * dims + d]!;
    });
    for (let o = 0; price[o]! < price[offer]!; o++) {
      const fits = content.every((amount, d) => amount <= capacity[o * dims + d]!) && this.limitUsage.most(o) >= times;
      if (
        fits &&
        items.every((item) => inSet[o * sets + setOf[shapeOf[item]!]!] === 1) &&
        isOpened(this.compiled, o, items)
      )
        return o;
    }
    return offer;
  }
}

import type { CompiledProblem } from './compile.js';
import type { Knapsack } from './knapsack.js';
import { LimitUsage } from './limits.js';
import type { BinGroup } from './plan.js';
import { priceOf } from './plan.js';
import { RateHeap } from './rate-heap.js';
import type { FeasibleWorth } from './resource-lp.js';
import { priceFloor } from './valuation.js';

/** Step limit of the search for the best content of one bin, and how many offers are tried for it. */
const mostSteps = 10;
const mostTried = 10;
/** Step size of the correction of a value in one round. */
const correction = 0.6;
/**
 * After this many packings the cheapest must be within a ratio of the known one; otherwise later ones hardly improve on
 * it.
 */
const firstRounds = 4;
const promising = 1.015;
/** Number of rounds without a cheaper packing after which the search ends. */
const mostIdle = 8;

/**
 * Sequential value correction. Packings are built bin by bin, each time the bin whose content has the highest worth per
 * price. The value of a pod starts as the worth of its resources. After each packing the value of pods in bins that
 * were worth less than their price rises, and that of the others falls, so that the next packing starts with the pods
 * that are hard to pack well.
 */
export class ValueCorrection {
  best: readonly BinGroup[];
  price: number;
  /** Bins of all packings that were built except the best one. */
  readonly tried: BinGroup[] = [];
  private readonly value: Float64Array;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly items: Int32Array,
    private readonly pods: Int32Array,
    private readonly knapsack: Knapsack,
    first: { readonly groups: readonly BinGroup[]; readonly worth: FeasibleWorth },
  ) {
    this.best = first.groups;
    this.price = priceOf(compiled, first.groups);
    this.value = valuesOf(compiled, items, first.worth);
  }

  /** Builds packings until the units are used, one costs at most `target`, or several rounds brought no cheaper one. */
  run(units: number, target: number): void {
    const { knapsack, compiled } = this;
    const end = knapsack.work + units;
    knapsack.maxSteps = mostSteps;
    let least = Infinity;
    for (let round = 1, idle = 0; idle < mostIdle && knapsack.work < end && this.price > target; round++, idle++) {
      const groups = this.build();
      if (groups === undefined) return;
      const price = priceOf(compiled, groups);
      if (price < least - 1e-9) {
        idle = -1;
        least = price;
      }
      if (price < this.price - 1e-9) {
        this.price = price;
        this.best = groups;
      } else this.tried.push(...groups);
      if (round >= firstRounds && least > this.price * promising) return;
      this.correct(groups);
    }
  }

  /** Builds one packing; undefined if limits leave pods unplaced. */
  private build(): BinGroup[] | undefined {
    const { compiled, knapsack, items } = this;
    const left = Int32Array.from(this.pods);
    const limitUsage = new LimitUsage(compiled);
    const heap = new RateHeap(compiled.offers);
    knapsack.aim(this.value, left);
    for (let offer = 0; offer < compiled.offers; offer++) {
      const rate = this.rateOf(offer, limitUsage);
      if (rate > 0) heap.push(offer, rate);
    }
    const groups: BinGroup[] = [];
    for (let rest = items.reduce((sum, item) => sum + left[item]!, 0); rest > 0;) {
      const best = this.bestBin(heap, limitUsage);
      if (best === undefined) return undefined;
      const times = best.items.reduce(
        (least, item, k) => Math.min(least, Math.floor(left[item]! / best.pods[k]!)),
        limitUsage.most(best.offer),
      );
      for (let k = 0; k < best.items.length; k++) {
        left[best.items[k]!] = left[best.items[k]!]! - times * best.pods[k]!;
        rest -= times * best.pods[k]!;
      }
      knapsack.forgetGone();
      limitUsage.use(best.offer, times);
      groups.push({ ...best, times });
    }
    return groups;
  }

  /**
   * Rates only fall as pods are placed, so the next offer of the heap is evaluated only once its rate may be the
   * highest.
   */
  private bestBin(heap: RateHeap, limitUsage: LimitUsage): Omit<BinGroup, 'times'> | undefined {
    const { compiled, knapsack } = this;
    let highest = 0;
    let best: Omit<BinGroup, 'times'> | undefined;
    const tried: number[] = [];
    while (tried.length < mostTried && heap.highest > highest) {
      const offer = heap.pop();
      const rate = this.rateOf(offer, limitUsage);
      if (rate === 0) continue;
      if (rate < heap.highest) {
        heap.push(offer, rate);
        continue;
      }
      heap.rate[offer] = rate;
      tried.push(offer);
      const price = compiled.price[offer]! + priceFloor;
      const worth = knapsack.fill(offer, highest * price);
      if (worth <= highest * price * (1 + 1e-9)) continue;
      highest = worth / price;
      best = { offer, ...knapsack.found() };
    }
    for (const offer of tried) heap.push(offer, heap.rate[offer]!);
    return best;
  }

  /** Upper bound of the worth per price of a bin of the offer; zero if limits allow none. */
  private rateOf(offer: number, limitUsage: LimitUsage): number {
    if (!limitUsage.allows(offer)) return 0;
    return this.knapsack.ceiling(offer) / (this.compiled.price[offer]! + priceFloor);
  }

  /** Moves the value of each item by the ratio of price to worth of its bins. */
  private correct(groups: readonly BinGroup[]): void {
    const { compiled, value, items, pods: all } = this;
    const sum = new Float64Array(compiled.items);
    for (const { offer, items: inside, pods, times } of groups) {
      let worth = 0;
      for (let k = 0; k < inside.length; k++) worth += pods[k]! * value[inside[k]!]!;
      const ratio = compiled.price[offer]! / Math.max(worth, priceFloor);
      for (let k = 0; k < inside.length; k++) sum[inside[k]!] = sum[inside[k]!]! + times * pods[k]! * ratio;
    }
    for (const item of items) value[item] = value[item]! * (1 - correction + (correction * sum[item]!) / all[item]!);
  }
}

/** By item: worth of a pod by its resources and caps. */
function valuesOf(
  { items: count, dims, demand, shapeOf, setOf, capsOf }: CompiledProblem,
  items: Int32Array,
  worth: FeasibleWorth,
): Float64Array {
  const value = new Float64Array(count);
  for (const item of items) {
    const shape = shapeOf[item]!;
    let sum = priceFloor;
    for (let d = 0; d < dims; d++) sum += demand[shape * dims + d]! * worth.resource[setOf[shape]! * dims + d]!;
    for (const cap of capsOf[item]!) sum += worth.cap[cap]!;
    value[item] = sum;
  }
  return value;
}

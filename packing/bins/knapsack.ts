import type { CompiledProblem } from './compile.js';
import { doesOpen, openToAll } from './openers.js';

/** Share of the mean price of a resource that is added to its worth, so that no resource has worth zero. */
const leastRate = 1;

/**
 * Fills one bin with whole pods of the highest total worth: a depth-first search with a step limit. Reuses scratch
 * space.
 */
export class Knapsack {
  /** Bounds the steps of one search. */
  maxSteps = 0;
  /** Visits of items, and steps, so far. */
  work = 0;
  private value: Float64Array;
  private left: Int32Array;
  /** Items with positive worth, by worth per weight: the first `candidates`. */
  private readonly order: Int32Array;
  private candidates = 0;
  /** By item: a pod's resources as one number, each weighted by its worth. */
  private readonly weight: Float64Array;
  /** By item: worth per weight. */
  private readonly density: Float64Array;
  /** By offer: its capacity as one number, weighted in the same way. */
  private readonly room: Float64Array;
  /** By offer and item: how many pods fit into an empty bin. */
  private readonly mostOf: Int32Array;
  /** By offer: its position in `mostOf`. */
  private at = 0;
  private readonly count: Int32Array;
  private readonly bestCount: Int32Array;
  private readonly residual: Float64Array;
  private readonly capUse: Int32Array;
  private readonly blocked: Int32Array;
  /** By supply: see `openToAll`. */
  private readonly openToAll: Uint8Array;
  private stepsLeft = 0;
  private mostWorth = 0;

  /** `resourceWorth`: worth of a unit of each resource in each set. */
  constructor(
    private readonly compiled: CompiledProblem,
    private readonly items: Int32Array,
    resourceWorth: Float64Array,
  ) {
    const rate = ratesOf(compiled, items, resourceWorth);
    const { offers, dims, capacity, demand, shapeOf } = compiled;
    this.value = new Float64Array(compiled.items);
    this.left = new Int32Array(compiled.items);
    this.order = new Int32Array(items.length);
    this.weight = Float64Array.from(shapeOf, (shape) => weighed(demand, shape * dims, rate));
    this.room = Float64Array.from({ length: offers }, (_, offer) => weighed(capacity, offer * dims, rate));
    this.mostOf = new Int32Array(offers * compiled.items);
    for (let offer = 0; offer < offers; offer++) {
      for (const item of items) this.mostOf[offer * compiled.items + item] = mostInEmpty(compiled, offer, item);
    }
    this.density = new Float64Array(compiled.items);
    this.count = new Int32Array(compiled.items);
    this.bestCount = new Int32Array(compiled.items);
    this.residual = new Float64Array(dims);
    this.capUse = new Int32Array(compiled.capMax.length);
    this.blocked = new Int32Array(compiled.items);
    this.openToAll = openToAll(compiled);
  }

  /** Sets the worth of a pod of each item, and the number of pods. */
  aim(value: Float64Array, left: Int32Array): void {
    const { items, order, density, weight } = this;
    this.value = value;
    this.left = left;
    this.candidates = 0;
    for (let k = 0; k < items.length; k++) {
      const item = items[k]!;
      if (left[item] === 0 || value[item]! <= 0) continue;
      density[item] = value[item]! / (weight[item]! + 1e-12);
      order[this.candidates++] = item;
    }
    order.subarray(0, this.candidates).sort((a, b) => density[b]! - density[a]! || a - b);
  }

  /** Drops items that have no pods left. */
  forgetGone(): void {
    const { order, left } = this;
    let kept = 0;
    for (let k = 0; k < this.candidates; k++) {
      const item = order[k]!;
      if (left[item]! > 0) order[kept++] = item;
    }
    this.candidates = kept;
  }

  /**
   * Upper bound of the worth in a bin of the offer: pods may be split, and only the weighted sum of its resources
   * counts.
   */
  ceiling(offer: number): number {
    const { order, density, weight, value, left, mostOf, candidates } = this;
    const at = offer * this.compiled.items;
    if (!this.isOpenToAll(offer) && !this.mayOpen(offer)) return 0;
    let room = this.room[offer]!;
    let worth = 0;
    let k = 0;
    for (; k < candidates; k++) {
      const item = order[k]!;
      const fits = Math.min(mostOf[at + item]!, left[item]!);
      if (fits === 0) continue;
      const whole = fits * weight[item]!;
      if (whole >= room) {
        worth += room * density[item]!;
        break;
      }
      room -= whole;
      worth += fits * value[item]!;
    }
    this.work += k;
    return worth;
  }

  /** The highest worth found for a bin of the offer, or `least` if that is no lower. */
  fill(offer: number, least: number): number {
    const { compiled, residual, bestCount } = this;
    const { dims, capacity } = compiled;
    bestCount.fill(0);
    this.mostWorth = least;
    for (let d = 0; d < dims; d++) residual[d] = capacity[offer * dims + d]!;
    this.at = offer * compiled.items;
    if (this.isOpenToAll(offer)) this.searchFrom(0, this.room[offer]!);
    else this.fillAroundOpener(offer);
    return this.mostWorth;
  }

  private searchFrom(worth: number, room: number): void {
    this.stepsLeft = this.maxSteps;
    this.search(0, worth, room);
    this.work += 4 * (this.maxSteps - this.stepsLeft);
  }

  private isOpenToAll(offer: number): boolean {
    return this.openToAll[this.compiled.supply.of[offer]!] === 1;
  }

  /** Whether pods are left that can open a bin of the offer. */
  private mayOpen(offer: number): boolean {
    const { order, compiled, mostOf, left } = this;
    const at = offer * compiled.items;
    let k = 0;
    const opens = (item: number): boolean =>
      mostOf[at + item]! > 0 && left[item]! > 0 && doesOpen(compiled, offer, item);
    while (k < this.candidates && !opens(order[k]!)) k++;
    this.work += k;
    return k < this.candidates;
  }

  /**
   * Searches the best content around one fixed pod: of those that can open the bin, the one with the highest worth per
   * weight.
   */
  private fillAroundOpener(offer: number): void {
    const { order, compiled, weight, value, left, candidates } = this;
    let k = 0;
    while (k < candidates && !(doesOpen(compiled, offer, order[k]!) && this.fits(order[k]!) > 0)) k++;
    if (k === candidates) return;
    const item = order[k]!;
    left[item] = left[item]! - 1;
    this.put(item, 1);
    this.searchFrom(value[item]!, this.room[offer]! - weight[item]!);
    this.put(item, -1);
    left[item] = left[item] + 1;
  }

  /** The content that the last `fill` found. */
  found(): { items: Int32Array; pods: Int32Array } {
    const items = this.items.filter((item) => this.bestCount[item]! > 0);
    return { items, pods: items.map((item) => this.bestCount[item]!) };
  }

  /** Tries the candidates from `from` on, in a bin with content worth `worth` and `room` left. */
  private search(from: number, worth: number, room: number): void {
    const { order, density, weight } = this;
    if (worth > this.mostWorth) {
      this.mostWorth = worth;
      this.bestCount.set(this.count);
    }
    for (let k = from; k < this.candidates; k++) {
      const item = order[k]!;
      if (worth + density[item]! * room <= this.mostWorth * (1 + 1e-9)) return;
      for (let n = this.fits(item); n > 0; n--) {
        if (this.stepsLeft <= 0) return;
        this.stepsLeft--;
        this.put(item, n);
        this.search(k + 1, worth + n * this.value[item]!, room - n * weight[item]!);
        this.put(item, -n);
      }
    }
  }

  /** How many pods of the item fit in addition to the current content. */
  private fits(item: number): number {
    const { compiled, residual, capUse, blocked } = this;
    let most = Math.min(this.mostOf[this.at + item]!, this.left[item]!);
    if (most === 0 || blocked[item]! > 0) return 0;
    const { dims, demand, shapeOf, capsOf, capMax } = compiled;
    const at = shapeOf[item]! * dims;
    for (const cap of capsOf[item]!) most = Math.min(most, capMax[cap]! - capUse[cap]!);
    for (let d = 0; d < dims; d++) {
      const amount = demand[at + d]!;
      if (amount * most > residual[d]!) most = Math.floor(residual[d]! / amount);
    }
    return most;
  }

  /** Adds pods, or removes them if `n` is negative. */
  private put(item: number, n: number): void {
    const { compiled, residual, capUse, blocked, count } = this;
    const { dims, demand, shapeOf, capsOf, conflictsOf } = compiled;
    const at = shapeOf[item]! * dims;
    for (let d = 0; d < dims; d++) residual[d] = residual[d]! - n * demand[at + d]!;
    count[item] = count[item]! + n;
    for (const cap of capsOf[item]!) capUse[cap] = capUse[cap]! + n;
    for (const other of conflictsOf[item]!) blocked[other] = blocked[other]! + Math.sign(n);
  }
}

function weighed(amounts: Float64Array, from: number, rate: Float64Array): number {
  let sum = 0;
  for (let d = 0; d < rate.length; d++) sum += rate[d]! * amounts[from + d]!;
  return sum;
}

/** How many pods of the item an empty bin of the offer holds. */
function mostInEmpty(
  { dims, capacity, demand, shapeOf, setOf, inSet, sets, capsOf, capMax, pods }: CompiledProblem,
  offer: number,
  item: number,
): number {
  const shape = shapeOf[item]!;
  if (inSet[offer * sets + setOf[shape]!] === 0) return 0;
  let most = pods[item]!;
  for (const cap of capsOf[item]!) most = Math.min(most, capMax[cap]!);
  for (let d = 0; d < dims; d++) {
    const amount = demand[shape * dims + d]!;
    if (amount * most > capacity[offer * dims + d]!) most = Math.floor(capacity[offer * dims + d]! / amount);
  }
  return Math.max(0, most);
}

/** Worth of a unit of each resource, averaged over all pods. */
function ratesOf(
  { dims, offers, price, capacity, setOf, shapeOf, demand, pods }: CompiledProblem,
  items: Int32Array,
  worth: Float64Array,
): Float64Array {
  const prices = price.reduce((sum, each) => sum + each, 0);
  return Float64Array.from({ length: dims }, (_, d) => {
    let total = 0;
    let worthOf = 0;
    for (const item of items) {
      const amount = pods[item]! * demand[shapeOf[item]! * dims + d]!;
      total += amount;
      worthOf += amount * worth[setOf[shapeOf[item]!]! * dims + d]!;
    }
    let room = 0;
    for (let offer = 0; offer < offers; offer++) room += capacity[offer * dims + d]!;
    return (total > 0 ? worthOf / total : 0) + (room > 0 ? (leastRate * prices) / room : 0);
  });
}

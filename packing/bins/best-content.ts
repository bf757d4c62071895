import { mostOf, type Contents } from './contents.js';
import { RestBounds } from './rest-bounds.js';

/** The best content of one bin that was found, and what no content exceeds. */
export interface BestContent {
  /** No content is worth more. */
  readonly most: number;
  /** Undefined where none was found that is worth more than was asked for. */
  readonly found?: { readonly worth: number; readonly items: readonly number[]; readonly pods: readonly number[] };
}

/** Rounds in which the multipliers of one bin are improved, and steps along the subgradient in each. */
const mostRounds = 2;
const mostSteps = 4;
const leastGain = 1e-4;
/** A search leaves out what is worth so many times the best content that was found. */
const nearlyBest = 1 + 2e-4;
/** Steps after which the thorough bound, which takes longer, is worth its time. */
const quickSteps = 60;

/**
 * The most that the content of one bin is worth, whole pods and all amounts counted. Multipliers of the amounts (a Lagrangian relaxation, which is
 * the linear one) bound what any content is worth; branch and bound by them finds the best one. Where the steps end it early `most` is still no less.
 */
export class ContentSearch {
  /** Steps and evaluations so far. */
  work = 0;
  private candidates: Int32Array;
  private fits: Int32Array;
  private reduced: Float64Array;
  private readonly residual: Float64Array;
  private readonly blocked: Int32Array;
  private readonly count: Int32Array;
  private size = 0;
  private best = 0;
  private bestCount = new Int32Array(0);
  private stepsLeft = 0;
  /** With no more steps left than these the thorough bound is taken too. */
  private thoroughFrom = 0;
  private readonly rest: RestBounds;
  private unexplored = 0;
  private openers: Uint8Array | undefined;
  private value: Float64Array = new Float64Array(0);

  constructor(private readonly contents: Contents) {
    const items = contents.pods.length;
    this.candidates = new Int32Array(items);
    this.fits = new Int32Array(items);
    this.reduced = new Float64Array(items);
    this.residual = new Float64Array(contents.width);
    this.blocked = new Int32Array(items);
    this.count = new Int32Array(items);
    this.rest = new RestBounds(contents);
  }

  /**
   * The best content of a bin of the capacity out of these items, each worth its `value`, if that is more than `floor`. `multipliers` are those of
   * the last time, and become those of this time.
   */
  run(
    bin: { readonly capacity: Float64Array; readonly multipliers: Float64Array },
    items: Int32Array,
    value: Float64Array,
    { floor, steps, openers }: { readonly floor: number; readonly steps: number; readonly openers?: Uint8Array },
  ): BestContent {
    this.value = value;
    this.list(bin.capacity, items);
    if (this.size === 0) return { most: 0 };
    const all = this.relax(bin.capacity, bin.multipliers, floor);
    if (all <= floor) return { most: all };
    this.sort();
    this.residual.set(bin.capacity);
    this.best = floor;
    this.stepsLeft = steps;
    this.unexplored = 0;
    this.openers = openers;
    this.thoroughFrom = steps - quickSteps;
    const before = this.rest.work;
    this.rest.aim({ items: this.candidates, fits: this.fits, size: this.size, value }, bin.multipliers);
    this.search(0, 0, all);
    this.work += steps - this.stepsLeft + this.rest.work - before;
    const most = Math.min(all, Math.max(this.best, this.unexplored));
    return this.best > floor ? { most, found: { worth: this.best, ...this.content() } } : { most };
  }

  private content(): { items: number[]; pods: number[] } {
    const inside = Array.from({ length: this.size }, (_, k) => k).filter((k) => this.bestCount[k]! > 0);
    return { items: inside.map((k) => this.candidates[k]!), pods: inside.map((k) => this.bestCount[k]!) };
  }

  /** Items with a positive worth that fit, and how many of each fit alone. */
  private list(capacity: Float64Array, items: Int32Array): void {
    const { width, weight, pods } = this.contents;
    this.size = 0;
    this.work += items.length >> 2;
    for (let n = 0; n < items.length; n++) {
      const item = items[n]!;
      if (this.value[item]! <= 1e-12) continue;
      const fits = mostOf(weight, item * width, capacity, pods[item]!);
      if (fits === 0) continue;
      this.candidates[this.size] = item;
      this.fits[this.size++] = fits;
    }
  }

  /**
   * Improves the multipliers, one amount after the other and then along the subgradient. Ends when the relaxation is worth no more than the floor, or
   * when a round gains too little. Returns what the relaxation is worth; `reduced` has the reduced worth of each candidate.
   */
  private relax(capacity: Float64Array, multipliers: Float64Array, floor: number): number {
    let least = this.evaluate(capacity, multipliers);
    for (let round = 0; round < mostRounds && least > floor; round++) {
      const before = least;
      for (let d = 0; d < multipliers.length; d++) multipliers[d] = this.bestMultiplier(d, capacity[d]!, multipliers);
      least = this.descend(capacity, multipliers, this.evaluate(capacity, multipliers), floor);
      if (least >= before * (1 - leastGain)) break;
    }
    return least;
  }

  /** Takes steps along the subgradient, as long as they would have to be to reach the floor. Leaves the best multipliers, and returns what the relaxation is worth at them. */
  private descend(capacity: Float64Array, multipliers: Float64Array, from: number, floor: number): number {
    let least = from;
    let worth = from;
    const best = multipliers.slice();
    for (let step = 0; step < mostSteps && least > floor; step++) {
      const slope = this.slope(capacity);
      const length = slope.reduce((sum, each, d) => sum + (capacity[d]! > 0 ? (each / capacity[d]!) ** 2 : 0), 0);
      if (length < 1e-12) break;
      const size = (worth - Math.max(floor, least * (1 - 0.02 / (1 + step)))) / length;
      for (let d = 0; d < multipliers.length; d++) {
        if (capacity[d]! > 0) multipliers[d] = Math.max(0, multipliers[d]! - (size * slope[d]!) / capacity[d]! ** 2);
      }
      worth = this.evaluate(capacity, multipliers);
      if (worth >= least) continue;
      least = worth;
      best.set(multipliers);
    }
    if (worth === least) return least;
    multipliers.set(best);
    this.evaluate(capacity, multipliers);
    return least;
  }

  /** By amount: what would be left of it (negative: missing) if all candidates with a positive reduced worth were in the bin. */
  private slope(capacity: Float64Array): Float64Array {
    const { width, weight } = this.contents;
    const slope = Float64Array.from(capacity);
    for (let k = 0; k < this.size; k++) {
      if (this.reduced[k]! <= 0) continue;
      const at = this.candidates[k]! * width;
      for (let d = 0; d < width; d++) slope[d] = slope[d]! - this.fits[k]! * weight[at + d]!;
    }
    return slope;
  }

  /** What the relaxation is worth at the multipliers: no content is worth more. */
  private evaluate(capacity: Float64Array, multipliers: Float64Array): number {
    const { width, weight } = this.contents;
    const { candidates, fits, reduced, size, value } = this;
    let total = 0;
    for (let d = 0; d < width; d++) total += multipliers[d]! * capacity[d]!;
    for (let k = 0; k < size; k++) {
      const item = candidates[k]!;
      let rest = value[item]!;
      for (let d = 0; d < width; d++) rest -= multipliers[d]! * weight[item * width + d]!;
      reduced[k] = rest;
      if (rest > 0) total += rest * fits[k]!;
    }
    this.work += size;
    return total;
  }

  /** The multiplier of one amount at which the relaxation is worth least, the others as they are. */
  private bestMultiplier(amount: number, capacity: number, multipliers: Float64Array): number {
    const { width, weight } = this.contents;
    const { candidates, fits, size, value } = this;
    const ends: { readonly at: number; readonly use: number }[] = [];
    let use = 0;
    for (let k = 0; k < size; k++) {
      const item = candidates[k]!;
      const own = weight[item * width + amount]!;
      if (own <= 0) continue;
      let rest = value[item]!;
      for (let d = 0; d < width; d++) if (d !== amount) rest -= multipliers[d]! * weight[item * width + d]!;
      if (rest <= 0) continue;
      ends.push({ at: rest / own, use: own * fits[k]! });
      use += own * fits[k]!;
    }
    if (use < capacity) return 0;
    this.work += size;
    ends.sort((a, b) => b.at - a.at);
    let sum = 0;
    for (const { at, use: own } of ends) {
      sum += own;
      if (sum >= capacity) return at;
    }
    return 0;
  }

  /** Those first that are worth most for what they use. */
  private sort(): void {
    const { candidates, fits, reduced, size, value } = this;
    const rank = (k: number): number => reduced[k]! / value[candidates[k]!]!;
    const order = Array.from({ length: size }, (_, k) => k).sort((a, b) => rank(b) - rank(a) || a - b);
    const before = { candidates: candidates.slice(), fits: fits.slice(), reduced: reduced.slice() };
    order.forEach((k, n) => {
      candidates[n] = before.candidates[k]!;
      fits[n] = before.fits[k]!;
      reduced[n] = before.reduced[k]!;
    });
    this.count.fill(0, 0, size);
  }

  /** Tries each number of the candidate `at`, then the later ones. `most`: what is inside and all that could come after are worth at most. */
  private search(at: number, worth: number, most: number): void {
    if (at === this.size) {
      if (worth <= this.best || (this.openers !== undefined && !this.isOpened(this.openers))) return;
      this.best = worth;
      this.bestCount = this.count.slice(0, this.size);
      return;
    }
    const ceiling = this.ceiling(at, worth, most);
    if (ceiling <= this.best * nearlyBest) {
      if (ceiling > this.best) this.unexplored = Math.max(this.unexplored, ceiling);
      return;
    }
    const { candidates, fits, reduced } = this;
    const item = candidates[at]!;
    const rest = reduced[at]!;
    const without = most - fits[at]! * Math.max(0, rest);
    for (let n = this.fitting(at, item); n >= 0; n--) {
      const bound = without + n * rest;
      // If the item has a positive reduced worth, fewer of it cannot be better.
      if (bound <= this.best) {
        if (rest >= 0) return;
        continue;
      }
      if (this.stepsLeft-- <= 0) {
        this.unexplored = Math.max(this.unexplored, Math.min(ceiling, rest >= 0 ? bound : without));
        return;
      }
      this.put(item, n);
      this.count[at] = n;
      this.search(at + 1, worth + n * this.value[item]!, bound);
      this.count[at] = 0;
      this.put(item, -n);
    }
  }

  /** What is inside and the candidates from `at` on are worth together at most. */
  private ceiling(at: number, worth: number, most: number): number {
    const quick = Math.min(most, worth + this.rest.quick(at, this.residual));
    const isDecided = quick <= this.best * nearlyBest || this.stepsLeft > this.thoroughFrom || at + 2 >= this.size;
    return isDecided ? quick : Math.min(quick, worth + this.rest.thorough(at, this.residual, this.blocked));
  }

  private isOpened(openers: Uint8Array): boolean {
    for (let k = 0; k < this.size; k++) if (this.count[k]! > 0 && openers[this.candidates[k]!] === 1) return true;
    return false;
  }

  private fitting(at: number, item: number): number {
    if (this.blocked[item]! > 0) return 0;
    const { width, weight } = this.contents;
    return mostOf(weight, item * width, this.residual, this.fits[at]!);
  }

  private put(item: number, pods: number): void {
    if (pods === 0) return;
    const { width, weight, conflicts } = this.contents;
    for (let d = 0; d < width; d++) this.residual[d] = this.residual[d]! - pods * weight[item * width + d]!;
    for (const other of conflicts[item]!) this.blocked[other] = this.blocked[other]! + Math.sign(pods);
  }
}

import { mostOf, type Contents } from './contents.js';
import { RestBounds } from './rest-bounds.js';

/** The best content found for one bin, and an upper bound of the worth of any content. */
interface BestContent {
  /** Upper bound: no content is worth more. */
  readonly most: number;
  /** Undefined where no content worth more than the floor was found. */
  readonly found?: { readonly worth: number; readonly items: readonly number[]; readonly pods: readonly number[] };
}

/** How many rounds improve the multipliers of one bin; each round takes steps along the subgradient. */
const mostRounds = 2;
const mostSteps = 4;
const leastGain = 1e-4;
/** The search prunes branches that cannot exceed the best content found by this factor. */
const nearlyBest = 1 + 2e-4;
/** After this many steps the slower, tighter bound is evaluated as well. */
const quickSteps = 60;

/**
 * Maximum worth of the content of one bin, with whole pods and all amounts. A Lagrangian relaxation of the amounts
 * bounds the worth of any content; branch and bound with these bounds finds the best content. If the step limit ends
 * the search early, `most` is still a valid upper bound.
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
  /** The thorough bound is evaluated once at most this many steps are left. */
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
   * Finds the best content of a bin with this capacity out of these items, each worth its `value`, if it is worth more
   * than `floor`. `multipliers` holds the multipliers of the previous run on entry, and those of this run on return.
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

  /** Lists the items with positive worth that fit, and how many of each fit alone. */
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
   * Improves the multipliers: first one amount after the other, then along the subgradient. Ends when the relaxation is
   * worth no more than the floor, or when a round gains too little. Returns the worth of the relaxation; `reduced` has
   * the reduced worth of each candidate.
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

  /**
   * Steps along the subgradient, with the step length that would reach the floor. Leaves the best multipliers and
   * returns the worth of the relaxation at them.
   */
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

  /** By amount: the room left (negative: missing) if all candidates with positive reduced worth were in the bin. */
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

  /** Worth of the relaxation at the multipliers: an upper bound of the worth of any content. */
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

  /** The multiplier of one amount that minimizes the relaxation while the others stay fixed. */
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

  /** Sorts candidates by worth per use, highest first. */
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

  /**
   * Tries each number of pods of candidate `at`, then the later candidates. `most`: upper bound of the worth of the
   * current content and all later candidates.
   */
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

  /** Upper bound of the worth of the current content and the candidates from `at` on. */
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

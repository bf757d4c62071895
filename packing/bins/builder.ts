import type { CompiledProblem } from './compile.js';
import { Filler, type BinAdmission } from './filler.js';
import { priceFloor, type Valuation } from './valuation.js';
import type { BinGroup } from './plan.js';
import type { Seed } from './remaining-pods.js';
import { Shortlist } from './shortlist.js';
import { RemainingPods } from './remaining-pods.js';

/** How many offers are filled to find the next bin. */
const candidatesPerBin = 4;

/**
 * Builds a packing greedily: repeats the bin with the highest worth per price as often as possible, then looks for the
 * next. Reuses scratch space.
 */
export class Builder {
  readonly filler: Filler;
  readonly compiled: CompiledProblem;
  private readonly remaining: RemainingPods;
  private readonly shortlist: Shortlist;
  private readonly bestItems: Int32Array;
  private readonly bestPods: Int32Array;
  private bestSize = 0;
  private readonly content: Float64Array;
  private readonly target: Float64Array;
  private readonly importance: Float64Array;
  private readonly phase: Uint8Array;
  private readonly admit: BinAdmission;

  constructor(
    readonly valuation: Valuation,
    /** Whether to prefer large bins among those whose worth per price is nearly the best. */
    private readonly large = false,
  ) {
    const { compiled } = valuation;
    this.compiled = compiled;
    this.filler = new Filler(compiled);
    this.remaining = new RemainingPods(compiled, valuation);
    this.bestItems = new Int32Array(compiled.items);
    this.bestPods = new Int32Array(compiled.items);
    this.shortlist = new Shortlist(valuation, this.remaining, candidatesPerBin);
    this.content = new Float64Array(compiled.dims);
    this.target = new Float64Array(compiled.dims);
    this.importance = new Float64Array(compiled.dims);
    this.phase = new Uint8Array(compiled.sets);
    this.admit = { left: this.remaining.left, sets: this.phase, rank: 0 };
  }

  /**
   * Packs `left` pods of `items` into new bins, appended to `out`, until less than `rest` in worth is left. Pods
   * without a bin stay in `left`.
   */
  construct(items: Int32Array, left: Int32Array, out: BinGroup[], rest: number): void {
    const { remaining } = this;
    const aside: [number, number][] = [];
    remaining.start(items, left);
    while (remaining.count() && remaining.worth >= rest) {
      const seed = remaining.seed();
      const group = this.next(seed);
      if (group !== undefined) {
        this.put(group, left, out);
        continue;
      }
      // Limits leave no offer that can hold this item.
      aside.push([seed.item, left[seed.item]!]);
      left[seed.item] = 0;
    }
    for (const [item, pods] of aside) left[item] = pods;
  }

  private put(group: BinGroup, left: Int32Array, out: BinGroup[]): void {
    for (let k = 0; k < group.items.length; k++) {
      left[group.items[k]!] = left[group.items[k]!]! - group.times * group.pods[k]!;
    }
    this.valuation.limitUsage.use(group.offer, group.times);
    out.push(group);
  }

  /**
   * The next bin, which holds `seed`. If caps force more bins than resources do: the bin with the least waste whose
   * worth is about the seed's share. Otherwise: the bin with the highest worth per price.
   */
  private next(seed: Seed): BinGroup | undefined {
    const { shortlist } = this;
    const { forced } = seed;
    shortlist.wanted = this.large && !forced ? 1 : candidatesPerBin;
    const found = forced ? shortlist.ofForced(seed) : this.large ? shortlist.ofLarge(seed) : shortlist.ofFree(seed);
    const { choice } = shortlist;
    let best = -1;
    let highest = -Infinity;
    for (let k = 0; k < found; k++) {
      const worth = this.fill(choice[k]!, seed);
      const offer = this.downsize(choice[k]!, seed);
      const price = this.compiled.price[offer]!;
      const score = forced ? worth - price : (worth + priceFloor) / (price + priceFloor);
      if (score <= highest + 1e-12) continue;
      highest = score;
      best = offer;
      this.remember();
    }
    return best < 0 ? undefined : this.groupOf(best);
  }

  /**
   * Fills one bin of `offer` around `seed` and returns the worth of its content. Items of sets that cost about as much
   * as the seed come first; cheaper ones fill the rest.
   */
  private fill(offer: number, seed: Seed): number {
    const { compiled, filler, remaining, valuation, phase, admit } = this;
    filler.begin(compiled.capacity, offer * compiled.dims);
    this.aim(offer, seed.set);
    filler.add(seed.item, 1);
    const hasFiller = remaining.setPhases(offer, seed, phase);
    admit.left = remaining.left;
    admit.rank = 1;
    filler.grow(remaining.kinds, remaining.live, admit);
    if (hasFiller) {
      admit.rank = 2;
      filler.grow(remaining.kinds, remaining.live, admit);
    }
    let worth = 0;
    const { items, size, count } = filler;
    const { shapeOf } = compiled;
    for (let k = 0; k < size; k++) worth += count[items[k]!]! * valuation.worth[shapeOf[items[k]!]!]!;
    return worth;
  }

  /**
   * Sets the fill target: the full capacity in resources that matter, and what the remaining pods need in the others.
   */
  private aim(offer: number, set: number): void {
    const { compiled, target, importance, remaining, filler } = this;
    const { resourceWorth } = this.valuation;
    const { dims, capacity } = compiled;
    const at = compiled.supply.of[offer]! * dims;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += resourceWorth[set * dims + d]! * capacity[offer * dims + d]!;
    let scale = Infinity;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      if (resourceWorth[set * dims + d]! * amount > 0.05 * worth && remaining.own[at + d]! > 0) {
        scale = Math.min(scale, amount / remaining.own[at + d]!);
      }
    }
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      const share = worth > 0 ? (resourceWorth[set * dims + d]! * amount) / worth : 0;
      target[d] = share > 0.05 || scale === Infinity ? amount : Math.min(amount, remaining.own[at + d]! * scale);
      importance[d] = amount > 0 ? Math.max(share, 0.5 * (target[d]! / amount)) : 0;
    }
    filler.aim(target, importance);
  }

  /** The cheapest offer that holds the current content of the filler; `offer` does. */
  private downsize(offer: number, seed: Seed): number {
    const { compiled, filler, content } = this;
    const { dims, capacity } = compiled;
    for (let d = 0; d < dims; d++) content[d] = capacity[offer * dims + d]! - filler.residual[d]!;
    return this.valuation.cheapest(content, filler, seed.set, offer);
  }

  /** Saves the content of the filler as the best bin so far. */
  private remember(): void {
    const { items, size, count } = this.filler;
    const { bestItems, bestPods } = this;
    this.bestSize = size;
    for (let k = 0; k < size; k++) {
      bestItems[k] = items[k]!;
      bestPods[k] = count[items[k]!]!;
    }
  }

  /** The saved bin, repeated as often as pods and limits allow. */
  private groupOf(offer: number): BinGroup {
    const { bestItems, bestPods, bestSize } = this;
    const { left } = this.remaining;
    let times = this.valuation.limitUsage.most(offer);
    for (let k = 0; k < bestSize; k++) times = Math.min(times, Math.floor(left[bestItems[k]!]! / bestPods[k]!));
    return { offer, items: bestItems.slice(0, bestSize), pods: bestPods.slice(0, bestSize), times };
  }
}

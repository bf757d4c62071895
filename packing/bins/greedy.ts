import type { Compiled } from './compile.js';
import { Filler } from './filler.js';
import { LimitLedger } from './limits.js';
import type { Stack } from './plan.js';

/** How many offers are filled to find the next bin. */
const candidatesPerBin = 6;

/** Builds bins one pattern at a time; holds the scratch space that constructions share. */
export class Builder {
  readonly filler: Filler;
  /** Work done so far, in units of `Effort`. */
  work = 0;
  private readonly candidates: Int32Array;
  private readonly shapeLeft: Int32Array;
  private readonly content: Float64Array;
  private readonly choice: Int32Array;
  private readonly choiceScore: Float64Array;
  private readonly capLeft: Int32Array;
  /** Sets, those whose items cost most first. */
  private readonly setOrder: Int32Array;
  /** Worth of one pod, by shape. */
  readonly worth: Float64Array;

  constructor(
    readonly compiled: Compiled,
    readonly prices: Float64Array,
    readonly ledger: LimitLedger,
    /** What an offer counts as when offers are compared: its price, or more where limits are short. */
    readonly rate: Float64Array,
  ) {
    this.filler = new Filler(compiled);
    this.candidates = new Int32Array(compiled.shapes);
    this.shapeLeft = new Int32Array(compiled.shapes);
    this.content = new Float64Array(compiled.dims);
    this.choice = new Int32Array(candidatesPerBin);
    this.choiceScore = new Float64Array(candidatesPerBin);
    this.capLeft = new Int32Array(compiled.capMax.length);
    this.worth = new Float64Array(compiled.shapes);
    const { dims, shapes, sets, demand, setOf } = compiled;
    const mean = new Float64Array(dims);
    for (let s = 0; s < shapes; s++) {
      for (let d = 0; d < dims; d++) {
        this.worth[s] = this.worth[s]! + prices[setOf[s]! * dims + d]! * demand[s * dims + d]!;
        mean[d] = mean[d]! + demand[s * dims + d]!;
      }
    }
    const dearness = new Float64Array(sets);
    for (let set = 0; set < sets; set++) {
      for (let d = 0; d < dims; d++) dearness[set] = dearness[set]! + prices[set * dims + d]! * mean[d]!;
    }
    this.setOrder = Int32Array.from({ length: sets }, (_, s) => s).sort((a, b) => dearness[b]! - dearness[a]! || a - b);
  }

  /** Packs what `left` counts of `items` into new bins, appended to `out`; what finds no bin stays in `left`. */
  construct(items: Int32Array, left: Int32Array, out: Stack[]): void {
    const { compiled, candidates, shapeLeft } = this;
    const shapes = this.shapesOf(items);
    const aside: [number, number][] = [];
    for (;;) {
      let live = 0;
      for (let k = 0; k < shapes.length; k++) {
        const s = shapes[k]!;
        let count = 0;
        for (let i = compiled.shapeStart[s]!; i < compiled.shapeStart[s + 1]!; i++) count += left[i]!;
        shapeLeft[s] = count;
        if (count > 0) candidates[live++] = s;
      }
      if (live === 0) break;
      const seed = this.pickSeed(items, left, live);
      const stack = seed.forced ? this.seeded(seed.item, live, left, seed.share) : this.open(seed.item, live, left);
      if (stack === undefined) {
        // No offer that limits leave can hold it.
        aside.push([seed.item, left[seed.item]!]);
        left[seed.item] = 0;
        continue;
      }
      for (let k = 0; k < stack.items.length; k++) {
        left[stack.items[k]!] = left[stack.items[k]!]! - stack.times * stack.pods[k]!;
      }
      this.ledger.use(stack.offer, stack.times);
      out.push(stack);
    }
    for (const [item, pods] of aside) left[item] = pods;
  }

  private shapesOf(items: Int32Array): Int32Array {
    const list: number[] = [];
    for (const item of items) {
      const s = this.compiled.shapeOf[item]!;
      if (list.at(-1) !== s) list.push(s);
    }
    return Int32Array.from(list);
  }

  /**
   * The item that the next bin must hold. Where caps demand more bins than resources do, one of the scarcest cap
   * (`forced`, with the share of the remaining worth that each such bin can count on); otherwise the largest of the dearest set.
   */
  private pickSeed(
    items: Int32Array,
    left: Int32Array,
    live: number,
  ): { item: number; forced: boolean; share: number } {
    const { compiled, candidates, shapeLeft, worth, capLeft } = this;
    let total = 0;
    let lead = candidates[0]!;
    for (let k = 0; k < live; k++) {
      const s = candidates[k]!;
      total += shapeLeft[s]! * worth[s]!;
      if (this.setRank(s) < this.setRank(lead) || (this.setRank(s) === this.setRank(lead) && worth[s]! > worth[lead]!))
        lead = s;
    }
    let scarcest = -1;
    let needed = 0;
    if (compiled.capMax.length > 0) {
      capLeft.fill(0);
      for (const item of items) for (const cap of compiled.capsOf[item]!) capLeft[cap] = capLeft[cap]! + left[item]!;
      for (let cap = 0; cap < capLeft.length; cap++) {
        const bins = Math.ceil(capLeft[cap]! / Math.max(1, compiled.capMax[cap]!));
        if (bins > needed) {
          needed = bins;
          scarcest = cap;
        }
      }
    }
    if (needed > 1) {
      let item = -1;
      for (const i of items) {
        if (left[i] === 0 || !compiled.capsOf[i]!.includes(scarcest)) continue;
        if (item < 0 || worth[compiled.shapeOf[i]!]! > worth[compiled.shapeOf[item]!]!) item = i;
      }
      const best = this.bestRate(compiled.setOf[compiled.shapeOf[item]!]!);
      if (total < needed * best) return { item, forced: true, share: total / needed };
    }
    for (let i = compiled.shapeStart[lead]!; i < compiled.shapeStart[lead + 1]!; i++) {
      if (left[i]! > 0) return { item: i, forced: false, share: 0 };
    }
    throw new Error('a shape with pods left has an item with pods left');
  }

  private readonly rateMemo = new Map<number, number>();

  /** The price of the offer of `set` with most worth for its price: the size of bin that resources alone would ask for. */
  private bestRate(set: number): number {
    const known = this.rateMemo.get(set);
    if (known !== undefined) return known;
    let best = 0;
    let price = Infinity;
    for (const o of this.compiled.offersOfSet[set]!) {
      const ratio = this.worthOfOffer(o, set) / this.rate[o]!;
      if (ratio > best * 1.001) {
        best = ratio;
        price = this.compiled.price[o]!;
      }
    }
    this.rateMemo.set(set, price);
    return price;
  }

  private setRank(shape: number): number {
    return this.setOrder.indexOf(this.compiled.setOf[shape]!);
  }

  private worthOfOffer(offer: number, set: number): number {
    const { dims, capacity } = this.compiled;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += this.prices[set * dims + d]! * capacity[offer * dims + d]!;
    return worth;
  }

  /** A bin around `seed`, of the offers that hold it the one that wastes least; at most about twice `share` in worth. */
  private seeded(seed: number, live: number, left: Int32Array, share: number): Stack | undefined {
    const { compiled } = this;
    const shape = compiled.shapeOf[seed]!;
    const set = compiled.setOf[shape]!;
    const target = Math.max(share * 1.6, this.worth[shape]!);
    let best: Stack | undefined;
    let least = Infinity;
    let tried = 0;
    for (const o of compiled.offersOfSet[set]!) {
      if (!this.holds(o, shape) || !this.ledger.allows(o)) continue;
      if (tried >= candidatesPerBin || (tried > 0 && this.worthOfOffer(o, set) > target)) break;
      tried++;
      const worth = this.fill(o, set, seed, live, left);
      const offer = this.cheapest(o, set);
      const waste = this.rate[offer]! - worth;
      if (waste < least - 1e-12) {
        least = waste;
        best = this.snapshot(offer, left);
      }
    }
    return best;
  }

  /** A bin of the set of `seed` with most worth for its price, of the most promising offers. */
  private open(seed: number, live: number, left: Int32Array): Stack | undefined {
    const { compiled, choice } = this;
    const shape = compiled.shapeOf[seed]!;
    const set = compiled.setOf[shape]!;
    const found = this.promising(set, shape, live);
    let best: Stack | undefined;
    let highest = -Infinity;
    for (let k = 0; k < found; k++) {
      const worth = this.fill(choice[k]!, set, seed, live, left);
      const offer = this.cheapest(choice[k]!, set);
      const ratio = worth / this.rate[offer]!;
      if (ratio > highest + 1e-12) {
        highest = ratio;
        best = this.snapshot(offer, left);
      }
    }
    return best;
  }

  /** Puts the offers of `set` that hold `shape` and could hold most worth for their price into `choice`. */
  private promising(set: number, shape: number, live: number): number {
    const { compiled, choice, choiceScore, candidates, shapeLeft, worth } = this;
    let total = 0;
    for (let k = 0; k < live; k++) total += shapeLeft[candidates[k]!]! * worth[candidates[k]!]!;
    let found = 0;
    for (const o of compiled.offersOfSet[set]!) {
      this.work++;
      const score = Math.min(total, this.worthOfOffer(o, set)) / this.rate[o]!;
      if (found === candidatesPerBin && score <= choiceScore[found - 1]!) continue;
      if (!this.holds(o, shape) || !this.ledger.allows(o)) continue;
      let k = found < candidatesPerBin ? found++ : found - 1;
      while (k > 0 && choiceScore[k - 1]! < score) {
        choice[k] = choice[k - 1]!;
        choiceScore[k] = choiceScore[k - 1]!;
        k--;
      }
      choice[k] = o;
      choiceScore[k] = score;
    }
    return found;
  }

  private holds(offer: number, shape: number): boolean {
    const { dims, capacity, demand } = this.compiled;
    for (let d = 0; d < dims; d++) if (demand[shape * dims + d]! > capacity[offer * dims + d]!) return false;
    return true;
  }

  /** Fills one bin of `offer` around `seed`; the worth of what came. */
  private fill(offer: number, set: number, seed: number, live: number, left: Int32Array): number {
    const { compiled, filler, candidates } = this;
    filler.begin(compiled.capacity, offer * compiled.dims);
    filler.aim(compiled.capacity, offer * compiled.dims, this.prices, set * compiled.dims);
    filler.add(seed, 1);
    const usable = this.usable;
    let count = 0;
    for (let k = 0; k < live; k++) {
      if (compiled.inSet[offer * compiled.sets + compiled.setOf[candidates[k]!]!] === 1)
        usable[count++] = candidates[k]!;
    }
    this.work += filler.grow(usable, count, left) + live;
    let worth = 0;
    for (const item of filler.items) worth += filler.count[item]! * this.worth[compiled.shapeOf[item]!]!;
    return worth;
  }

  private usableMemo: Int32Array | undefined;

  private get usable(): Int32Array {
    return (this.usableMemo ??= new Int32Array(this.compiled.shapes));
  }

  /** The cheapest offer that holds what the filler holds, given that `offer` does. */
  private cheapest(offer: number, set: number): number {
    const { compiled, filler, content } = this;
    const { dims, capacity } = compiled;
    for (let d = 0; d < dims; d++) content[d] = capacity[offer * dims + d]! - filler.residual[d]!;
    return this.cheapestFor(content, filler.items, set, offer);
  }

  /** The cheapest offer with room for `content` that admits all `items`, no dearer than `offer`, which does. */
  cheapestFor(content: Float64Array, items: readonly number[] | Int32Array, set: number, offer: number): number {
    const { compiled, rate } = this;
    const { dims, capacity, price } = compiled;
    const offers = compiled.offersOfSet[set]!;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += this.prices[set * dims + d]! * content[d]!;
    let low = 0;
    let high = offers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (price[offers[middle]!]! < worth * (1 - 1e-6)) low = middle + 1;
      else high = middle;
    }
    let best = offer;
    for (let k = low; k < offers.length; k++) {
      const o = offers[k]!;
      if (o === best || price[o]! > rate[best]!) break;
      this.work++;
      if (rate[o]! >= rate[best]!) continue;
      let d = 0;
      while (d < dims && content[d]! <= capacity[o * dims + d]!) d++;
      if (d < dims || !this.admitsAll(o, items) || !this.ledger.allows(o)) continue;
      best = o;
    }
    return best;
  }

  private admitsAll(offer: number, items: readonly number[] | Int32Array): boolean {
    const { inSet, sets, setOf, shapeOf } = this.compiled;
    for (let k = 0; k < items.length; k++) if (inSet[offer * sets + setOf[shapeOf[items[k]!]!]!] === 0) return false;
    return true;
  }

  private snapshot(offer: number, left: Int32Array): Stack {
    const { items, count } = this.filler;
    let times = this.ledger.most(offer);
    for (const item of items) times = Math.min(times, Math.floor(left[item]! / count[item]!));
    return { offer, items: Int32Array.from(items), pods: Int32Array.from(items, (item) => count[item]!), times };
  }
}

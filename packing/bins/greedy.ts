import type { Compiled } from './compile.js';
import { Filler } from './filler.js';
import { LimitLedger } from './limits.js';
import type { Stack } from './plan.js';

interface Seed {
  readonly item: number;
  readonly forced: boolean;
  readonly share: number;
}

/** How many offers are filled to find the next bin. */
const candidatesPerBin = 6;

/** Builds bins one pattern at a time; holds the scratch space that constructions share. */
export class Builder {
  readonly filler: Filler;
  /** Work done so far, in units of `Effort`. */
  work = 0;
  private readonly candidates: Int32Array;
  private readonly shapeLeft: Int32Array;
  /** How many of them one bin could hold as far as caps go. */
  private readonly perBin: Float64Array;
  private readonly content: Float64Array;
  private readonly choice: Int32Array;
  private readonly remaining: Float64Array;
  private readonly remainingOthers: Float64Array;
  private othersRate = 0;
  /** Offers dearer than this are not looked at. */
  private ceiling = Infinity;
  /** Other than 0: bits that vary what the next bins aim at. */
  disturb = 0;
  private readonly choiceScore: Float64Array;
  private readonly capLeft: Int32Array;
  /** Sets, those whose items cost most first. */
  private readonly setOrder: Int32Array;
  /** What the mean pod would be worth in each set. */
  private readonly dearness: Float64Array;
  private readonly target: Float64Array;
  private readonly importance: Float64Array;
  private readonly others: Int32Array;
  private readonly usable: Int32Array;
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
    this.perBin = new Float64Array(compiled.shapes);
    this.content = new Float64Array(compiled.dims);
    this.remainingOthers = new Float64Array(compiled.dims);
    this.remaining = new Float64Array(compiled.dims);
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
    const dearness = (this.dearness = new Float64Array(sets));
    for (let set = 0; set < sets; set++) {
      for (let d = 0; d < dims; d++) dearness[set] = dearness[set]! + prices[set * dims + d]! * mean[d]!;
    }
    this.target = new Float64Array(dims);
    this.importance = new Float64Array(dims);
    this.others = new Int32Array(shapes);
    this.usable = new Int32Array(shapes);
    this.setOrder = Int32Array.from({ length: sets }, (_, s) => s).sort((a, b) => dearness[b]! - dearness[a]! || a - b);
  }

  /** Packs what `left` counts of `items` into new bins, appended to `out`; what finds no bin stays in `left`. */
  construct(items: Int32Array, left: Int32Array, out: Stack[]): void {
    const shapes = this.shapesOf(items);
    const aside: [number, number][] = [];
    this.ceiling = Infinity;
    for (;;) {
      const live = this.count(items, shapes, left);
      if (live === 0) break;
      const seed = this.pickSeed(items, left, live);
      const stack = this.next(seed, live, left);
      if (stack !== undefined) {
        this.put(stack, left, out);
        continue;
      }
      // No offer that limits leave can hold it.
      aside.push([seed.item, left[seed.item]!]);
      left[seed.item] = 0;
    }
    for (const [item, pods] of aside) left[item] = pods;
  }

  /**
   * The same for pods that bins of `price` held: gives up, with Infinity, as soon as it cannot cost less. The price of what
   * it made otherwise.
   */
  rebuild(items: Int32Array, left: Int32Array, out: Stack[], price: number): number {
    const shapes = this.shapesOf(items);
    let spent = 0;
    for (;;) {
      const live = this.count(items, shapes, left);
      if (live === 0) return spent;
      let rest = 0;
      for (let k = 0; k < live; k++) rest += this.shapeLeft[this.candidates[k]!]! * this.worth[this.candidates[k]!]!;
      if (spent + rest > price + 1e-9) return Infinity;
      this.ceiling = price - spent;
      const stack = this.next(this.pickSeed(items, left, live), live, left);
      if (stack === undefined) return Infinity;
      this.put(stack, left, out);
      spent += stack.times * this.rate[stack.offer]!;
    }
  }

  private next(seed: Seed, live: number, left: Int32Array): Stack | undefined {
    const { setOf, shapeOf } = this.compiled;
    this.survey(live, setOf[shapeOf[seed.item]!]!);
    return seed.forced ? this.seeded(seed.item, live, left, seed.share) : this.open(seed.item, live, left);
  }

  private put(stack: Stack, left: Int32Array, out: Stack[]): void {
    for (let k = 0; k < stack.items.length; k++) {
      left[stack.items[k]!] = left[stack.items[k]!]! - stack.times * stack.pods[k]!;
    }
    this.ledger.use(stack.offer, stack.times);
    out.push(stack);
  }

  /** Lists the shapes with pods left in `candidates`, with their counts; how many. */
  private count(items: Int32Array, shapes: Int32Array, left: Int32Array): number {
    const { compiled, candidates, shapeLeft, perBin } = this;
    this.countCaps(items, left);
    let live = 0;
    for (let k = 0; k < shapes.length; k++) {
      const s = shapes[k]!;
      let count = 0;
      let usable = 0;
      for (let i = compiled.shapeStart[s]!; i < compiled.shapeStart[s + 1]!; i++) {
        if (left[i] === 0) continue;
        count += left[i]!;
        usable += left[i]! * this.shareInOneBin(i);
      }
      shapeLeft[s] = count;
      perBin[s] = usable;
      if (count > 0) candidates[live++] = s;
    }
    return live;
  }

  private countCaps(items: Int32Array, left: Int32Array): void {
    const { capLeft, compiled } = this;
    if (capLeft.length === 0) return;
    capLeft.fill(0);
    for (const item of items) for (const cap of compiled.capsOf[item]!) capLeft[cap] = capLeft[cap]! + left[item]!;
  }

  /** The part of what is left of `item` that caps let one bin hold, if the items of a cap share it evenly. */
  private shareInOneBin(item: number): number {
    const { capsOf, capMax } = this.compiled;
    let share = 1;
    for (const cap of capsOf[item]!) share = Math.min(share, capMax[cap]! / this.capLeft[cap]!);
    return share;
  }

  /** Sums what one bin could use of what is left: of sets about as dear as `set`, and of the others with their dearness beside that of `set`. */
  private survey(live: number, set: number): void {
    const { compiled, candidates, perBin, remaining, remainingOthers, dearness } = this;
    const { dims, demand, setOf } = compiled;
    remaining.fill(0);
    remainingOthers.fill(0);
    let pods = 0;
    let rate = 0;
    for (let k = 0; k < live; k++) {
      const s = candidates[k]!;
      const own = setOf[s]!;
      const sum = dearness[own]! >= 0.9 * dearness[set]! ? remaining : remainingOthers;
      for (let d = 0; d < dims; d++) sum[d] = sum[d]! + perBin[s]! * demand[s * dims + d]!;
      if (sum === remaining) continue;
      pods += perBin[s]!;
      rate += perBin[s]! * dearness[own]!;
    }
    this.othersRate = pods > 0 && dearness[set]! > 0 ? rate / pods / dearness[set]! : 0;
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
    const found = this.shortlist(set, shape, (o) => {
      const room = this.worthOfOffer(o, set);
      return room > target && !this.isSmallest(o, set, shape) ? -Infinity : room - this.rate[o]! * (1 + 1e-9);
    });
    let best: Stack | undefined;
    let least = Infinity;
    for (let k = 0; k < found; k++) {
      const worth = this.fill(this.choice[k]!, set, seed, live, left);
      const offer = this.cheapest(this.choice[k]!, set);
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
    const found = this.shortlist(set, shape, (o) => this.promise(o, set));
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

  /** How much worth for its price `offer` could hold of what is left. */
  private promise(offer: number, set: number): number {
    const { compiled, remaining, remainingOthers } = this;
    const { dims, capacity } = compiled;
    let own = 0;
    let room = 0;
    let taken = 0;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      const price = this.prices[set * dims + d]!;
      own += price * Math.min(remaining[d]!, amount);
      room += price * Math.min(remaining[d]! + remainingOthers[d]!, amount);
      if (amount > 0) taken = Math.max(taken, remaining[d]! / amount);
    }
    return (own + (taken < 1 ? this.othersRate * (room - own) : 0)) / this.rate[offer]!;
  }

  /** Puts the offers of `set` that hold `shape` and score highest into `choice`, best first; how many. */
  private shortlist(set: number, shape: number, scoreOf: (offer: number) => number): number {
    const { choice, choiceScore } = this;
    let found = 0;
    for (const o of this.compiled.offersOfSet[set]!) {
      this.work++;
      if (this.compiled.price[o]! > this.ceiling) break;
      const score = scoreOf(o);
      if (score === -Infinity || (found === candidatesPerBin && score <= choiceScore[found - 1]!)) continue;
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

  /** Whether `offer` is the cheapest of `set` that holds `shape` and limits leave. */
  private isSmallest(offer: number, set: number, shape: number): boolean {
    for (const o of this.compiled.offersOfSet[set]!) {
      if (this.holds(o, shape) && this.ledger.allows(o)) return o === offer;
    }
    return false;
  }

  private holds(offer: number, shape: number): boolean {
    const { dims, capacity, demand } = this.compiled;
    for (let d = 0; d < dims; d++) if (demand[shape * dims + d]! > capacity[offer * dims + d]!) return false;
    return true;
  }

  /**
   * Fills one bin of `offer` around `seed`; the worth of what came. Items about as dear as the seed come first: cheaper ones
   * only use what these leave.
   */
  private fill(offer: number, set: number, seed: number, live: number, left: Int32Array): number {
    const { compiled, filler, candidates, usable, others, dearness } = this;
    filler.begin(compiled.capacity, offer * compiled.dims);
    this.aim(offer, set);
    filler.add(seed, 1);
    let count = 0;
    let rest = 0;
    for (let k = 0; k < live; k++) {
      const own = compiled.setOf[candidates[k]!]!;
      if (compiled.inSet[offer * compiled.sets + own] === 0) continue;
      if (dearness[own]! >= 0.9 * dearness[set]!) usable[count++] = candidates[k]!;
      else others[rest++] = candidates[k]!;
    }
    this.work += filler.grow(usable, count, left) + live;
    if (rest > 0) this.work += filler.grow(others, rest, left);
    let worth = 0;
    for (const item of filler.items) worth += filler.count[item]! * this.worth[compiled.shapeOf[item]!]!;
    return worth;
  }

  /** Aims at a full bin in the resources that are worth something, and at the mix of what is left in the others. */
  private aim(offer: number, set: number): void {
    const { compiled, prices, target, importance, remaining, filler } = this;
    const { dims, capacity } = compiled;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += prices[set * dims + d]! * capacity[offer * dims + d]!;
    let scale = Infinity;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      if (prices[set * dims + d]! * amount > 0.05 * worth && remaining[d]! > 0) {
        scale = Math.min(scale, amount / remaining[d]!);
      }
    }
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      const share = worth > 0 ? (prices[set * dims + d]! * amount) / worth : 0;
      target[d] = share > 0.05 ? amount : Math.min(amount, remaining[d]! * scale);
      importance[d] = amount > 0 ? Math.max(share, 0.5 * (target[d]! / amount)) : 0;
      if (this.disturb !== 0) importance[d] = importance[d]! * (1 + ((this.disturb >> (3 * (d % 8))) & 7) / 2);
    }
    filler.aim(target, importance);
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

import type { CompiledProblem } from './compile.js';
import { Filler, type BinAdmission } from './filler.js';
import { blockBits, free, type Market } from './market.js';
import type { Stack } from './plan.js';
import type { Seed } from './stock.js';
import { Stock } from './stock.js';

/** How many offers are filled to find the next bin. */
const candidatesPerBin = 4;
/** How much less than the most that an offer promises a larger one may promise to be taken in its place. */
const nearlyMost = 0.99;
/** Scores that differ by no more than this count as equal: the cheaper offer is tried then. */
const alike = 1 + 1e-9;
/** How many offers a random rebuild chooses among. */
const candidatesAtRandom = 16;

/** How much bins may come to. */
export interface BinBudget {
  readonly price: number;
  /** By shape, what a pod costs at least in any packing: no offer holds more of it than its price. */
  readonly worth: Float64Array;
}

interface Construction {
  readonly rest?: number;
  readonly budget?: BinBudget | undefined;
}

/** Builds bins one pattern at a time; holds the scratch space that constructions share. */
export class Builder {
  readonly filler: Filler;
  readonly compiled: CompiledProblem;
  private fills = 0;
  /** How many offers are shortlisted. */
  private wanted = candidatesPerBin;
  /** Other than 0 while rebuilding: varies the choices. */
  private bits = 0;
  private readonly stock: Stock;
  private readonly choice: Int32Array;
  private readonly choiceScore: Float64Array;
  private readonly bestItems: Int32Array;
  private readonly bestPods: Int32Array;
  private bestSize = 0;
  private readonly content: Float64Array;
  private readonly target: Float64Array;
  private readonly importance: Float64Array;
  private readonly phase: Uint8Array;
  private readonly admit: BinAdmission;
  private readonly ownValue: Float64Array;
  private readonly roomValue: Float64Array;
  /** Offers dearer than this are not looked at. */
  private ceiling = Infinity;

  constructor(
    readonly market: Market,
    /** Whether bins are made as large as their price for what they hold allows: fewer are rounded up then. */
    private readonly large = false,
  ) {
    const { compiled } = market;
    this.compiled = compiled;
    this.filler = new Filler(compiled);
    this.stock = new Stock(compiled, market);
    this.bestItems = new Int32Array(compiled.items);
    this.bestPods = new Int32Array(compiled.items);
    this.choice = new Int32Array(candidatesAtRandom);
    this.choiceScore = new Float64Array(candidatesAtRandom);
    this.content = new Float64Array(compiled.dims);
    this.target = new Float64Array(compiled.dims);
    this.importance = new Float64Array(compiled.dims);
    this.phase = new Uint8Array(compiled.sets);
    this.admit = { left: this.stock.left, sets: this.phase, rank: 0, items: undefined };
    this.ownValue = new Float64Array(compiled.supply.count * compiled.dims);
    this.roomValue = new Float64Array(compiled.supply.count * compiled.dims);
  }

  /** Work done so far, in units of `Effort`. */
  get work(): number {
    return this.fills + this.market.work;
  }

  /**
   * Packs what `left` counts of `items` into new bins, appended to `out`, until less than `rest` in worth is left; what finds
   * no bin stays in `left`. Ends early, with false, once the bins must come to more than the budget.
   */
  construct(items: Int32Array, left: Int32Array, out: Stack[], { rest = 0, budget }: Construction = {}): boolean {
    const { stock } = this;
    const aside: [number, number][] = [];
    this.ceiling = Infinity;
    stock.open(items, left);
    let least = budget === undefined ? 0 : this.leastOf(items, (k) => left[items[k]!]!, budget);
    while (stock.count() && stock.worth >= rest) {
      const seed = stock.seed();
      const stack = this.next(seed);
      if (stack !== undefined) {
        this.put(stack, left, out);
        if (budget === undefined) continue;
        least +=
          stack.times * (this.compiled.price[stack.offer]! - this.leastOf(stack.items, (k) => stack.pods[k]!, budget));
        if (least > budget.price) return false;
        continue;
      }
      // No offer that limits leave can hold it.
      aside.push([seed.item, left[seed.item]!]);
      left[seed.item] = 0;
    }
    for (const [item, pods] of aside) left[item] = pods;
    return true;
  }

  /** What so many pods of the items cost at least; `podsOf(k)` are of `items[k]`. */
  private leastOf(items: Int32Array, podsOf: (k: number) => number, { worth }: BinBudget): number {
    const { shapeOf } = this.compiled;
    let least = 0;
    for (let k = 0; k < items.length; k++) least += podsOf(k) * worth[shapeOf[items[k]!]!]!;
    return least;
  }

  /**
   * The same for pods that bins of `price` held, with `bits` that vary the choices: gives up, with Infinity, as soon as it
   * cannot cost less. The price of what it made otherwise.
   */
  rebuild(items: Int32Array, left: Int32Array, out: Stack[], price: number, bits: number): number {
    const { stock } = this;
    let spent = 0;
    stock.open(items, left);
    this.bits = bits;
    while (spent < Infinity && stock.count()) {
      this.ceiling = price - spent + 1e-12;
      const seed = stock.seed();
      const stack = spent + stock.worth > price + 1e-9 ? undefined : this.next(seed);
      if (stack === undefined) {
        spent = Infinity;
        break;
      }
      this.put(stack, left, out);
      spent += stack.times * this.compiled.price[stack.offer]!;
    }
    this.bits = 0;
    return spent;
  }

  private put(stack: Stack, left: Int32Array, out: Stack[]): void {
    for (let k = 0; k < stack.items.length; k++) {
      left[stack.items[k]!] = left[stack.items[k]!]! - stack.times * stack.pods[k]!;
    }
    this.market.ledger.use(stack.offer, stack.times);
    out.push(stack);
  }

  /**
   * A bin around `seed`: where caps force it, the one that wastes least, at most about twice its share in worth; otherwise
   * the one with most worth for its price.
   */
  private next(seed: Seed): Stack | undefined {
    const forced = seed.forced && (this.bits & 7) !== 7;
    this.wanted = (this.bits & 8) !== 0 ? candidatesAtRandom : this.large && !forced ? 1 : candidatesPerBin;
    const found = forced
      ? this.shortlistForced(seed)
      : this.large
        ? this.shortlistLarge(seed)
        : this.shortlistFree(seed);
    // Every other rebuild starts from an offer at random rather than from the best.
    const only = found > 1 && (this.bits & 8) !== 0 ? (this.bits >> 8) % found : -1;
    this.bits &= ~8;
    const { market, choice } = this;
    let best = -1;
    let highest = -Infinity;
    for (let k = 0; k < found; k++) {
      if (only >= 0 && k !== only) continue;
      const worth = this.fill(choice[k]!, seed);
      const offer = this.downsize(choice[k]!, seed);
      const price = market.compiled.price[offer]!;
      const score = forced ? worth - price : (worth + free) / (price + free);
      if (score <= highest + 1e-12) continue;
      highest = score;
      best = offer;
      this.remember();
    }
    return best < 0 ? undefined : this.stackOf(best);
  }

  /** Puts into `choice` the offers that could waste least of those of about the seed's share; how many. */
  private shortlistForced(seed: Seed): number {
    const { market, compiled } = this;
    const shape = compiled.shapeOf[seed.item]!;
    const offers = compiled.offersOfSet[seed.set]!;
    const worth = market.worthOfOffers(seed.set);
    const target = Math.max(seed.share * 1.6, market.worth[shape]!);
    let found = 0;
    for (let k = market.firstWorth(seed.set, market.worth[shape]!); k < offers.length; k++) {
      const o = offers[k]!;
      if (compiled.price[o]! > this.ceiling || (found > 0 && compiled.price[o]! > 2.5 * target)) break;
      market.work++;
      if ((found > 0 && worth[k]! > target) || !market.holds(o, shape)) continue;
      found = this.offer(o, worth[k]! - market.compiled.price[o]! * (1 + 1e-9), found);
    }
    return found;
  }

  /** Puts into `choice` the offers that could hold most worth for their price of what is left; how many. */
  private shortlistFree(seed: Seed): number {
    const { market, compiled, choiceScore, wanted } = this;
    const { price } = compiled;
    const shape = compiled.shapeOf[seed.item]!;
    const offers = compiled.offersOfSet[seed.set]!;
    const { value, most, tightest } = market.shelf(seed.set);
    const all = tightest * this.valueStock(seed.set) * (1 + 1e-9);
    let found = 0;
    for (let k = market.firstWorth(seed.set, market.worth[shape]!); k < offers.length; k++) {
      const cost = price[offers[k]!]!;
      if (cost > this.ceiling) break;
      if (found === wanted) {
        // No offer from here on is worth more for its price than all that is left.
        if (all <= choiceScore[found - 1]! * cost) break;
        if (most[k >>> blockBits]! <= choiceScore[found - 1]! * alike) {
          k |= (1 << blockBits) - 1;
          continue;
        }
      }
      market.work++;
      const score = this.promise(offers[k]!, value, k * compiled.dims);
      if (found === wanted && score <= choiceScore[found - 1]! * alike) continue;
      if (market.holds(offers[k]!, shape)) found = this.offer(offers[k]!, score, found);
    }
    return found;
  }

  /** Puts into `choice` the dearest of the offers that promise nearly most for their price. */
  private shortlistLarge(seed: Seed): number {
    const { market, compiled } = this;
    const shape = compiled.shapeOf[seed.item]!;
    const offers = compiled.offersOfSet[seed.set]!;
    const first = market.firstWorth(seed.set, market.worth[shape]!);
    const { value, most: mostOf } = market.shelf(seed.set);
    this.valueStock(seed.set);
    let most = 0;
    for (const pass of [0, 1]) {
      for (let k = offers.length - 1; k >= first; k--) {
        if (mostOf[k >>> blockBits]! <= most) {
          k &= ~((1 << blockBits) - 1);
          continue;
        }
        market.work++;
        const score = this.promise(offers[k]!, value, k * compiled.dims);
        if (score <= most || !market.holds(offers[k]!, shape)) continue;
        if (pass === 0) most = score;
        else return this.offer(offers[k]!, score, 0);
      }
      most *= nearlyMost;
    }
    return 0;
  }

  /** Values what bins of each supply could use, in the eyes of `set`; the most that any supply has of it. */
  private valueStock(set: number): number {
    const { stock, ownValue, roomValue } = this;
    const { prices } = this.market;
    const { dims, supply } = this.compiled;
    let most = 0;
    for (let k = 0; k < supply.count; k++) {
      let total = 0;
      for (let d = 0; d < dims; d++) {
        const at = k * dims + d;
        const price = prices[set * dims + d]!;
        ownValue[at] = price * stock.own[at]!;
        roomValue[at] = price * (stock.own[at]! + stock.others[at]!);
        total += roomValue[at];
      }
      if (total > most) most = total;
    }
    return most;
  }

  /** Inserts an offer into `choice`, best first, dropping the last where it is full. */
  private offer(offer: number, score: number, found: number): number {
    const { choice, choiceScore } = this;
    if (found === this.wanted && score <= choiceScore[found - 1]! * alike) return found;
    let k = found < this.wanted ? found : found - 1;
    while (k > 0 && choiceScore[k - 1]! * alike < score) {
      choice[k] = choice[k - 1]!;
      choiceScore[k] = choiceScore[k - 1]!;
      k--;
    }
    choice[k] = offer;
    choiceScore[k] = score;
    return Math.min(this.wanted, found + 1);
  }

  /** How much worth for its price `offer`, valued at `value[k]` onwards, could hold of what is left. */
  private promise(offer: number, value: Float64Array, k: number): number {
    const { ownValue, roomValue } = this;
    const { dims, price, supply } = this.compiled;
    const at = supply.of[offer]! * dims;
    let worth = 0;
    let room = 0;
    for (let d = 0; d < dims; d++) {
      const amount = value[k + d]!;
      const own = ownValue[at + d]!;
      const all = roomValue[at + d]!;
      worth += own < amount ? own : amount;
      room += all < amount ? all : amount;
    }
    if (room > worth && this.hasRoom(offer)) worth += this.stock.othersRate[supply.of[offer]!]! * (room - worth);
    return (this.market.tightness[offer]! * worth) / (price[offer]! + free);
  }

  /** Whether what is about as dear as the seed leaves room in a bin of `offer`. */
  private hasRoom(offer: number): boolean {
    const { own } = this.stock;
    const { dims, capacity, supply } = this.compiled;
    const at = supply.of[offer]! * dims;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      if (amount > 0 && own[at + d]! >= amount) return false;
    }
    return true;
  }

  /**
   * Fills one bin of `offer` around `seed`; the worth of what came. Items about as dear as the seed come first: cheaper ones
   * only use what these leave.
   */
  private fill(offer: number, seed: Seed): number {
    const { compiled, filler, stock, market, phase, admit } = this;
    filler.begin(compiled.capacity, offer * compiled.dims);
    this.aim(offer, seed.set);
    filler.add(seed.item, 1);
    // A rebuild may let cheaper items compete from the start.
    const hasFiller = stock.phases(offer, seed, phase, (this.bits & 16) !== 0);
    admit.left = stock.left;
    admit.rank = 1;
    this.fills += filler.grow(stock.kinds, stock.live, admit);
    if (hasFiller) {
      admit.rank = 2;
      this.fills += filler.grow(stock.kinds, stock.live, admit);
    }
    let worth = 0;
    const { items, size, count } = filler;
    const { shapeOf } = compiled;
    for (let k = 0; k < size; k++) worth += count[items[k]!]! * market.worth[shapeOf[items[k]!]!]!;
    return worth;
  }

  /** Aims at a full bin in the resources that are worth something, and at the mix of what is left in the others. */
  private aim(offer: number, set: number): void {
    const { compiled, target, importance, stock, filler } = this;
    const { prices } = this.market;
    const { dims, capacity } = compiled;
    const at = compiled.supply.of[offer]! * dims;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += prices[set * dims + d]! * capacity[offer * dims + d]!;
    let scale = Infinity;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      if (prices[set * dims + d]! * amount > 0.05 * worth && stock.own[at + d]! > 0) {
        scale = Math.min(scale, amount / stock.own[at + d]!);
      }
    }
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      const share = worth > 0 ? (prices[set * dims + d]! * amount) / worth : 0;
      target[d] = share > 0.05 || scale === Infinity ? amount : Math.min(amount, stock.own[at + d]! * scale);
      importance[d] = amount > 0 ? Math.max(share, 0.5 * (target[d]! / amount)) : 0;
      if (this.bits !== 0) importance[d] = importance[d]! * (1 + ((this.bits >> (3 * (d % 8) + 4)) & 7) / 2);
    }
    filler.aim(target, importance);
  }

  /** The cheapest offer that holds what the filler holds, given that `offer` does. */
  private downsize(offer: number, seed: Seed): number {
    const { compiled, filler, content } = this;
    const { dims, capacity } = compiled;
    for (let d = 0; d < dims; d++) content[d] = capacity[offer * dims + d]! - filler.residual[d]!;
    return this.market.cheapest(content, filler, seed.set, offer);
  }

  /** Keeps what the filler holds. */
  private remember(): void {
    const { items, size, count } = this.filler;
    const { bestItems, bestPods } = this;
    this.bestSize = size;
    for (let k = 0; k < size; k++) {
      bestItems[k] = items[k]!;
      bestPods[k] = count[items[k]!]!;
    }
  }

  /** What was kept, as often as there are pods and limits for it. */
  private stackOf(offer: number): Stack {
    const { bestItems, bestPods, bestSize } = this;
    const { left } = this.stock;
    let times = this.market.ledger.most(offer);
    for (let k = 0; k < bestSize; k++) times = Math.min(times, Math.floor(left[bestItems[k]!]! / bestPods[k]!));
    return { offer, items: bestItems.slice(0, bestSize), pods: bestPods.slice(0, bestSize), times };
  }
}

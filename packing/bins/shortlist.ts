import { blockBits, free, type Market } from './market.js';
import type { CompiledProblem } from './compile.js';
import type { Seed, Stock } from './stock.js';

/** The share of the best score that a larger offer must have to be taken in its place. */
const nearlyMost = 0.99;
/** Scores that differ by no more than this count as equal: the cheaper offer is tried then. */
const alike = 1 + 1e-9;

/** The offers that are filled to find the next bin: those with the best score: what of the rest they may hold for their price. */
export class Shortlist {
  /** How many offers are shortlisted. */
  wanted = 0;
  /** Offers dearer than this are not looked at. */
  ceiling = Infinity;
  /** The offers found last, best first. */
  readonly choice: Int32Array;
  private readonly choiceScore: Float64Array;
  private readonly compiled: CompiledProblem;
  private readonly ownValue: Float64Array;
  private readonly roomValue: Float64Array;

  /** `most`: how many offers are wanted at most. */
  constructor(
    private readonly market: Market,
    private readonly stock: Stock,
    most: number,
  ) {
    const { compiled } = market;
    this.compiled = compiled;
    this.choice = new Int32Array(most);
    this.choiceScore = new Float64Array(most);
    this.ownValue = new Float64Array(compiled.supply.count * compiled.dims);
    this.roomValue = new Float64Array(compiled.supply.count * compiled.dims);
  }

  /** Puts into `choice` the offers that could waste least of those of about the seed's share; how many. */
  ofForced(seed: Seed): number {
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
  ofFree(seed: Seed): number {
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
  ofLarge(seed: Seed): number {
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
}

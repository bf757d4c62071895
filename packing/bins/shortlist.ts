import { blockBits, priceFloor, type Valuation } from './valuation.js';
import type { CompiledProblem } from './compile.js';
import type { Seed, RemainingPods } from './remaining-pods.js';

/** A larger offer is preferred if its score is at least this share of the best. */
const nearlyMost = 0.99;
/** Scores within this ratio count as equal; the cheaper offer then comes first. */
const alike = 1 + 1e-9;

/** The offers to fill for the next bin: those that could hold the highest worth of remaining pods per price. */
export class Shortlist {
  /** How many offers are shortlisted. */
  wanted = 0;
  /** The offers found last, best first. */
  readonly choice: Int32Array;
  private readonly choiceScore: Float64Array;
  private readonly compiled: CompiledProblem;
  private readonly ownValue: Float64Array;
  private readonly roomValue: Float64Array;

  /** `most`: the maximum of `wanted`. */
  constructor(
    private readonly valuation: Valuation,
    private readonly remaining: RemainingPods,
    most: number,
  ) {
    const { compiled } = valuation;
    this.compiled = compiled;
    this.choice = new Int32Array(most);
    this.choiceScore = new Float64Array(most);
    this.ownValue = new Float64Array(compiled.supply.count * compiled.dims);
    this.roomValue = new Float64Array(compiled.supply.count * compiled.dims);
  }

  /**
   * Puts into `choice` the offers whose worth is about the seed's share and that could waste least; returns their
   * number.
   */
  ofForced(seed: Seed): number {
    const { valuation, compiled } = this;
    const shape = compiled.shapeOf[seed.item]!;
    const offers = compiled.offersOfSet[seed.set]!;
    const worth = valuation.worthOfOffers(seed.set);
    const target = Math.max(seed.share * 1.6, valuation.worth[shape]!);
    let found = 0;
    for (let k = valuation.firstCosting(seed.set, valuation.worth[shape]!); k < offers.length; k++) {
      const o = offers[k]!;
      if (found > 0 && compiled.price[o]! > 2.5 * target) break;
      if ((found > 0 && worth[k]! > target) || !valuation.holds(o, shape)) continue;
      found = this.insert(o, worth[k]! - valuation.compiled.price[o]! * (1 + 1e-9), found);
    }
    return found;
  }

  /** Puts into `choice` the offers with the best scores; returns their number. */
  ofFree(seed: Seed): number {
    const { valuation, compiled, choiceScore, wanted } = this;
    const { price } = compiled;
    const shape = compiled.shapeOf[seed.item]!;
    const offers = compiled.offersOfSet[seed.set]!;
    const { value, most } = valuation.valuesFor(seed.set);
    const all = this.valueRemaining(seed.set) * (1 + 1e-9);
    let found = 0;
    for (let k = valuation.firstCosting(seed.set, valuation.worth[shape]!); k < offers.length; k++) {
      const cost = price[offers[k]!]!;
      if (found === wanted) {
        // No later offer has a better score even if it holds all remaining pods.
        if (all <= choiceScore[found - 1]! * cost) break;
        if (most[k >>> blockBits]! <= choiceScore[found - 1]! * alike) {
          k |= (1 << blockBits) - 1;
          continue;
        }
      }
      const score = this.possibleScore(offers[k]!, value, k * compiled.dims);
      if (found === wanted && score <= choiceScore[found - 1]! * alike) continue;
      if (valuation.holds(offers[k]!, shape)) found = this.insert(offers[k]!, score, found);
    }
    return found;
  }

  /** Puts into `choice` the most expensive offer with nearly the best score; returns the number found. */
  ofLarge(seed: Seed): number {
    const { valuation, compiled } = this;
    const shape = compiled.shapeOf[seed.item]!;
    const offers = compiled.offersOfSet[seed.set]!;
    const first = valuation.firstCosting(seed.set, valuation.worth[shape]!);
    const { value, most: mostOf } = valuation.valuesFor(seed.set);
    this.valueRemaining(seed.set);
    let most = 0;
    for (const pass of [0, 1]) {
      for (let k = offers.length - 1; k >= first; k--) {
        if (mostOf[k >>> blockBits]! <= most) {
          k &= ~((1 << blockBits) - 1);
          continue;
        }
        const score = this.possibleScore(offers[k]!, value, k * compiled.dims);
        if (score <= most || !valuation.holds(offers[k]!, shape)) continue;
        if (pass === 0) most = score;
        else return this.insert(offers[k]!, score, 0);
      }
      most *= nearlyMost;
    }
    return 0;
  }

  /**
   * Values the remaining pods that a bin of each supply could use, at the resource worth of `set`; returns the highest
   * value.
   */
  private valueRemaining(set: number): number {
    const { remaining, ownValue, roomValue } = this;
    const { resourceWorth } = this.valuation;
    const { dims, supply } = this.compiled;
    let most = 0;
    for (let k = 0; k < supply.count; k++) {
      let total = 0;
      for (let d = 0; d < dims; d++) {
        const at = k * dims + d;
        const price = resourceWorth[set * dims + d]!;
        ownValue[at] = price * remaining.own[at]!;
        roomValue[at] = price * (remaining.own[at]! + remaining.others[at]!);
        total += roomValue[at];
      }
      if (total > most) most = total;
    }
    return most;
  }

  /** Inserts an offer into `choice`, best first; drops the last if it is full. */
  private insert(offer: number, score: number, found: number): number {
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

  /**
   * Upper bound of the worth per price that `offer` could hold of the remaining pods; its resources are worth
   * `value[k]` onwards.
   */
  private possibleScore(offer: number, value: Float64Array, k: number): number {
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
    if (room > worth && this.hasRoom(offer)) worth += this.remaining.othersRate[supply.of[offer]!]! * (room - worth);
    return worth / (price[offer]! + priceFloor);
  }

  /** Whether the items that come first leave room in a bin of `offer` for cheaper ones. */
  private hasRoom(offer: number): boolean {
    const { own } = this.remaining;
    const { dims, capacity, supply } = this.compiled;
    const at = supply.of[offer]! * dims;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      if (amount > 0 && own[at + d]! >= amount) return false;
    }
    return true;
  }
}

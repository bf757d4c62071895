import type { CompiledProblem } from './compile.js';
import type { LimitUsage } from './limits.js';

/** Values of the offers of one set, by index in `offersOfSet[set]`. */
interface SetValues {
  /** Worth of each resource of each offer: `value[k * dims + d]`. */
  readonly value: Float64Array;
  /** By block of offers: the highest worth per price of a full bin. */
  readonly most: Float64Array;
}

/** The content of a bin: the first `size` of `items`. */
interface BinContent {
  readonly items: Int32Array;
  readonly size: number;
}

/** Size of the blocks in which offers are skipped, in bits. */
export const blockBits = 3;
const blockSize = 1 << blockBits;
/** Added to prices before dividing by them, since offers may be free. */
export const priceFloor = 1e-12;

/** Compares prices of offers with the worth of their content, at a given worth of each resource. */
export class Valuation {
  /** By shape: worth of one pod. */
  readonly worth: Float64Array;
  /**
   * By shape: whether it demands a scarce resource such as GPUs. Its bins are chosen for that resource, and other
   * shapes fill them up.
   */
  readonly scarce: Uint8Array;
  /** By set: worth of the mean pod in it; higher in sets that admit only expensive offers. */
  readonly meanPodWorth: Float64Array;
  /** Rank of each set by `meanPodWorth`, the highest first. */
  readonly setRank: Int32Array;
  private readonly worthMemo: (Float64Array | undefined)[];
  private readonly valuesMemo: (SetValues | undefined)[];
  private readonly bestMemo: (number | undefined)[];

  constructor(
    readonly compiled: CompiledProblem,
    /** Worth of a unit of each resource to each set: `prices[set * dims + d]`. */
    readonly resourceWorth: Float64Array,
    readonly limitUsage: LimitUsage,
    /** A valuation of the same problem at the same resource worth, whose cached results are reused. */
    like?: Valuation,
  ) {
    const { worth, scarce, meanPodWorth, setRank } = like ?? appraise(compiled, resourceWorth);
    this.worth = worth;
    this.scarce = scarce;
    this.meanPodWorth = meanPodWorth;
    this.setRank = setRank;
    this.worthMemo = like?.worthMemo ?? [];
    this.bestMemo = like?.bestMemo ?? [];
    this.valuesMemo = like?.valuesMemo ?? [];
  }

  /** Worth of a full bin, by index in `offersOfSet[set]`. */
  worthOfOffers(set: number): Float64Array {
    const known = this.worthMemo[set];
    if (known !== undefined) return known;
    const { offersOfSet, capacity, dims } = this.compiled;
    const offers = offersOfSet[set]!;
    const result = new Float64Array(offers.length);
    for (let k = 0; k < offers.length; k++) {
      let worth = 0;
      for (let d = 0; d < dims; d++) worth += this.resourceWorth[set * dims + d]! * capacity[offers[k]! * dims + d]!;
      result[k] = worth;
    }
    this.worthMemo[set] = result;
    return result;
  }

  /** The offers of a set, valued. */
  valuesFor(set: number): SetValues {
    return (this.valuesMemo[set] ??= this.computeValues(set));
  }

  private computeValues(set: number): SetValues {
    const { offersOfSet, capacity, dims, price } = this.compiled;
    const offers = offersOfSet[set]!;
    const value = new Float64Array(offers.length * dims);
    const most = new Float64Array((offers.length + blockSize - 1) >>> blockBits);
    for (let k = 0; k < offers.length; k++) {
      const o = offers[k]!;
      let worth = 0;
      for (let d = 0; d < dims; d++) {
        const each = this.resourceWorth[set * dims + d]! * capacity[o * dims + d]!;
        value[k * dims + d] = each;
        worth += each;
      }
      const rate = worth / (price[o]! + priceFloor);
      if (rate > most[k >>> blockBits]!) most[k >>> blockBits] = rate;
    }
    return { value, most };
  }

  /** The price of the offer of `set` with the highest worth per price: the best bin size if there were no caps. */
  bestPrice(set: number): number {
    const known = this.bestMemo[set];
    if (known !== undefined) return known;
    const offers = this.compiled.offersOfSet[set]!;
    const worth = this.worthOfOffers(set);
    let best = 0;
    let price = Infinity;
    for (let k = 0; k < offers.length; k++) {
      const ratio = worth[k]! / this.compiled.price[offers[k]!]!;
      if (ratio > best * 1.001) {
        best = ratio;
        price = this.compiled.price[offers[k]!]!;
      }
    }
    this.bestMemo[set] = price;
    return price;
  }

  /** Whether an empty bin of `offer` has room for a pod of `shape`, and limits allow the bin. */
  holds(offer: number, shape: number): boolean {
    const { dims, capacity, demand } = this.compiled;
    for (let d = 0; d < dims; d++) if (demand[shape * dims + d]! > capacity[offer * dims + d]!) return false;
    return this.limitUsage.allows(offer);
  }

  /**
   * The first index in `offersOfSet[set]` of an offer that costs at least `worth`: cheaper ones cannot hold that much.
   */
  firstCosting(set: number, worth: number): number {
    const { price, offersOfSet } = this.compiled;
    const offers = offersOfSet[set]!;
    const least = worth * (1 - 1e-6);
    let low = 0;
    let high = offers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (price[offers[middle]!]! < least) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The cheapest offer with room for `content` that admits all items `inside`; at most as expensive as `offer`, which
   * does.
   */
  cheapest(content: Float64Array, inside: BinContent, set: number, offer: number): number {
    const { compiled, resourceWorth } = this;
    const { dims, capacity, price } = compiled;
    const offers = compiled.offersOfSet[set]!;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += resourceWorth[set * dims + d]! * content[d]!;
    for (let k = this.firstCosting(set, worth); k < offers.length; k++) {
      const o = offers[k]!;
      if (o === offer || price[o]! >= price[offer]!) break;
      let d = 0;
      while (d < dims && content[d]! <= capacity[o * dims + d]!) d++;
      if (d === dims && this.admitsAll(o, inside) && this.limitUsage.allows(o)) return o;
    }
    return offer;
  }

  private admitsAll(offer: number, { items, size }: BinContent): boolean {
    const { inSet, sets, setOf, shapeOf } = this.compiled;
    for (let k = 0; k < size; k++) if (inSet[offer * sets + setOf[shapeOf[items[k]!]!]!] === 0) return false;
    return true;
  }
}

/** By shape: worth of one pod, at the resource worth `prices[set * dims + d]`. */
function worthOfShapes({ dims, shapes, demand, setOf }: CompiledProblem, prices: Float64Array): Float64Array {
  const worth = new Float64Array(shapes);
  for (let s = 0; s < shapes; s++) {
    for (let d = 0; d < dims; d++) worth[s] = worth[s]! + prices[setOf[s]! * dims + d]! * demand[s * dims + d]!;
  }
  return worth;
}

/** The worth of pods and sets at this worth of resources. */
function appraise(
  compiled: CompiledProblem,
  prices: Float64Array,
): Pick<Valuation, 'worth' | 'scarce' | 'meanPodWorth' | 'setRank'> {
  const { dims, shapes, sets, demand } = compiled;
  const mean = new Float64Array(dims);
  const demanding = new Int32Array(dims);
  for (let s = 0; s < shapes; s++) {
    for (let d = 0; d < dims; d++) {
      const amount = demand[s * dims + d]!;
      mean[d] = mean[d]! + amount;
      if (amount > 0) demanding[d] = demanding[d]! + 1;
    }
  }
  // A resource that few items demand, such as GPUs, says nothing about the cost of other resources.
  const scarce = new Uint8Array(shapes);
  for (let d = 0; d < dims; d++) {
    if (2 * demanding[d]! >= shapes) continue;
    mean[d] = 0;
    for (let s = 0; s < shapes; s++) if (demand[s * dims + d]! > 0) scarce[s] = 1;
  }
  const meanPodWorth = new Float64Array(sets);
  for (let k = 0; k < sets * dims; k++) {
    const set = Math.floor(k / dims);
    meanPodWorth[set] = meanPodWorth[set]! + prices[k]! * mean[k % dims]!;
  }
  const setRank = new Int32Array(sets);
  Int32Array.from({ length: sets }, (_, s) => s)
    .sort((a, b) => meanPodWorth[b]! - meanPodWorth[a]! || a - b)
    .forEach((set, rank) => (setRank[set] = rank));
  return { worth: worthOfShapes(compiled, prices), scarce, meanPodWorth, setRank };
}

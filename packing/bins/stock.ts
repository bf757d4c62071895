import type { CompiledProblem } from './compile.js';
import type { Market } from './market.js';

/** The item that the next bin must hold. */
export interface Seed {
  readonly item: number;
  readonly set: number;
  /** Whether caps ask for more bins than resources do; then each can count on `share` of the remaining worth. */
  readonly forced: boolean;
  readonly share: number;
}

/** Sets count as equally dear when they differ by less than this share. */
const alike = 0.9;

/** The same as `includes`, whose call costs more than most lists are long. */
function holds(list: Int32Array, value: number): boolean {
  for (let k = 0; k < list.length; k++) if (list[k] === value) return true;
  return false;
}

/** The pods that wait for bins, and sums over them that choices need. */
export class Stock {
  /** Kinds with pods left: the first `live` of `kinds`. */
  readonly kinds: Int32Array;
  live = 0;
  left: Int32Array;
  /** Worth of all pods left. */
  worth = 0;
  /** What one bin of each supply could use, as far as caps go: items about as dear as the seed, and the others. */
  readonly own: Float64Array;
  readonly others: Float64Array;
  /** How dear the others are beside the seed. */
  readonly othersRate: Float64Array;
  /** Whether pods of each set are left. */
  readonly setLive: Uint8Array;
  private readonly usable: Float64Array;
  private readonly usablePods: Float64Array;
  /** Sets that have offers in common with the seed's. */
  private readonly beside: Uint8Array;
  /** Items that may have pods left: the first `size`. */
  private readonly items: Int32Array;
  private size = 0;
  private readonly capLeft: Int32Array;
  private lead = 0;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly market: Market,
  ) {
    this.kinds = new Int32Array(compiled.kinds);
    this.left = new Int32Array(0);
    this.items = new Int32Array(compiled.items);
    this.own = new Float64Array(compiled.supply.count * compiled.dims);
    this.others = new Float64Array(compiled.supply.count * compiled.dims);
    this.othersRate = new Float64Array(compiled.supply.count);
    this.usable = new Float64Array(compiled.sets * compiled.dims);
    this.usablePods = new Float64Array(compiled.sets);
    this.setLive = new Uint8Array(compiled.sets);
    this.beside = new Uint8Array(compiled.sets);
    this.capLeft = new Int32Array(compiled.capMax.length);
  }

  /** Takes on the pods that `left` counts of `items` (ascending). */
  open(items: Int32Array, left: Int32Array): void {
    this.items.set(items);
    this.size = items.length;
    this.left = left;
  }

  /** Counts anew after pods have gone; whether any are left. */
  count(): boolean {
    const { items, left, compiled, market, kinds, setLive, capLeft } = this;
    const { shapeOf, setOf, capsOf, kindOf } = compiled;
    capLeft.fill(0);
    setLive.fill(0);
    this.live = 0;
    this.worth = 0;
    let lead = -1;
    let live = 0;
    for (let k = 0; k < this.size; k++) {
      const item = items[k]!;
      const pods = left[item]!;
      if (pods === 0) continue;
      items[live++] = item;
      const shape = shapeOf[item]!;
      const set = setOf[shape]!;
      setLive[set] = 1;
      this.worth += pods * market.worth[shape]!;
      const kind = kindOf[shape]!;
      if (this.live === 0 || kinds[this.live - 1] !== kind) kinds[this.live++] = kind;
      const caps = capsOf[item]!;
      for (let c = 0; c < caps.length; c++) capLeft[caps[c]!] = capLeft[caps[c]!]! + pods;
      if (lead < 0 || this.before(shape, shapeOf[lead]!)) lead = item;
    }
    this.size = live;
    this.lead = lead;
    return lead >= 0;
  }

  /**
   * The seed of the next bin. Where caps demand more bins than resources do, an item of the scarcest cap; otherwise the
   * largest of the dearest set.
   */
  seed(): Seed {
    const { compiled, capLeft, market, items, left } = this;
    const { capMax, capsOf, shapeOf, setOf } = compiled;
    let scarcest = -1;
    let needed = 1;
    for (let cap = 0; cap < capLeft.length; cap++) {
      const bins = Math.ceil(capLeft[cap]! / Math.max(1, capMax[cap]!));
      if (bins > needed) {
        needed = bins;
        scarcest = cap;
      }
    }
    if (scarcest >= 0) {
      let item = -1;
      for (let k = 0; k < this.size; k++) {
        const i = items[k]!;
        if (left[i] === 0 || !holds(capsOf[i]!, scarcest)) continue;
        if (item < 0 || market.worth[shapeOf[i]!]! > market.worth[shapeOf[item]!]!) item = i;
      }
      const set = setOf[shapeOf[item]!]!;
      const own = this.worthBeside(set);
      if (own < needed * market.bestPrice(set)) return this.survey({ item, set, forced: true, share: own / needed });
    }
    return this.survey({ item: this.lead, set: setOf[shapeOf[this.lead]!]!, forced: false, share: 0 });
  }

  /** Sums what one bin could use, set by set and then for each supply that the seed may be in. */
  private survey(seed: Seed): Seed {
    const { compiled, items, left, own, others, othersRate, usable, usablePods, market } = this;
    const { dims, demand, setOf, shapeOf, supply } = compiled;
    const dear = alike * market.dearness[seed.set]!;
    usable.fill(0);
    usablePods.fill(0);
    for (let k = 0; k < this.size; k++) {
      const item = items[k]!;
      if (left[item] === 0) continue;
      const pods = left[item]! * this.shareInOneBin(item);
      const shape = shapeOf[item]!;
      const set = setOf[shape]!;
      usablePods[set] = usablePods[set]! + pods;
      for (let d = 0; d < dims; d++) {
        usable[set * dims + d] = usable[set * dims + d]! + pods * demand[shape * dims + d]!;
      }
    }
    own.fill(0);
    others.fill(0);
    for (let k = 0; k < supply.count; k++) {
      let pods = 0;
      let rate = 0;
      for (const set of supply.sets[k]!) {
        if (usablePods[set] === 0) continue;
        const isDear = market.dearness[set]! >= dear;
        const sum = isDear ? own : others;
        for (let d = 0; d < dims; d++) sum[k * dims + d] = sum[k * dims + d]! + usable[set * dims + d]!;
        if (isDear) continue;
        pods += usablePods[set]!;
        rate += usablePods[set]! * market.dearness[set]!;
      }
      othersRate[k] = pods > 0 && dear > 0 ? rate / pods / market.dearness[seed.set]! : 0;
    }
    return seed;
  }

  /** Tells for each set what a bin of `offer` around `seed` does with its items: 0 refuses, 1 takes, 2 takes as filler. Whether there is filler. */
  phases(offer: number, seed: Seed, phase: Uint8Array, together: boolean): boolean {
    const { compiled, market, setLive } = this;
    const dear = alike * market.dearness[seed.set]!;
    let filler = false;
    for (let set = 0; set < compiled.sets; set++) {
      phase[set] = 0;
      if (setLive[set] === 0 || compiled.inSet[offer * compiled.sets + set] === 0) continue;
      phase[set] = together || market.dearness[set]! >= dear ? 1 : 2;
      if (phase[set] === 2) filler = true;
    }
    return filler;
  }

  /** Worth of what is left of sets about as dear as `set` that have offers in common with it. */
  private worthBeside(set: number): number {
    const { compiled, market, items, left, beside } = this;
    const { supply, setOf, shapeOf } = compiled;
    const dear = alike * market.dearness[set]!;
    beside.fill(0);
    for (const sets of supply.sets) {
      if (!sets.includes(set)) continue;
      for (const other of sets) if (market.dearness[other]! >= dear) beside[other] = 1;
    }
    let worth = 0;
    for (let k = 0; k < this.size; k++) {
      const shape = shapeOf[items[k]!]!;
      if (beside[setOf[shape]!] === 1) worth += left[items[k]!]! * market.worth[shape]!;
    }
    return worth;
  }

  private before(a: number, b: number): boolean {
    const { market, compiled } = this;
    if (market.scarce[a] !== market.scarce[b]) return market.scarce[a] === 1;
    const difference = market.setRank[compiled.setOf[a]!]! - market.setRank[compiled.setOf[b]!]!;
    return difference !== 0 ? difference < 0 : market.worth[a]! > market.worth[b]!;
  }

  /** The part of what is left of `item` that caps let one bin hold, if the items of a cap share it evenly. */
  private shareInOneBin(item: number): number {
    const { capsOf, capMax } = this.compiled;
    const caps = capsOf[item]!;
    let share = 1;
    for (let c = 0; c < caps.length; c++) share = Math.min(share, capMax[caps[c]!]! / this.capLeft[caps[c]!]!);
    return share;
  }
}

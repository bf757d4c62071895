import type { CompiledProblem } from './compile.js';
import type { Valuation } from './valuation.js';

/** The item that the next bin must hold. */
export interface Seed {
  readonly item: number;
  readonly set: number;
  /** Whether caps require more bins than resources do. Each bin then gets about `share` of the remaining worth. */
  readonly forced: boolean;
  readonly share: number;
}

/** Sets whose mean pod is worth at least this share of the seed's come first; the others fill gaps. */
const alike = 0.9;

/** Like `includes`, which is slower for lists this short. */
function holds(list: Int32Array, value: number): boolean {
  for (let k = 0; k < list.length; k++) if (list[k] === value) return true;
  return false;
}

/** The pods that are not packed yet, and sums over them. */
export class RemainingPods {
  /** Kinds with pods left: the first `live` of `kinds`. */
  readonly kinds: Int32Array;
  live = 0;
  left: Int32Array;
  /** Worth of all pods left. */
  worth = 0;
  /**
   * What one bin of each supply could use of the remaining pods, as far as caps allow: of the sets that come first
   * (`own`) and of the others.
   */
  readonly own: Float64Array;
  readonly others: Float64Array;
  /** Worth of the mean pod of the others, relative to that of the seed. */
  readonly othersRate: Float64Array;
  /** Whether pods of each set are left. */
  readonly setLive: Uint8Array;
  private readonly usable: Float64Array;
  private readonly usablePods: Float64Array;
  /** Sets that share offers with the set of the seed. */
  private readonly competingSets: Uint8Array;
  /** Items that may have pods left: the first `size`. */
  private readonly items: Int32Array;
  private size = 0;
  private readonly capLeft: Int32Array;
  private firstItem = 0;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly valuation: Valuation,
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
    this.competingSets = new Uint8Array(compiled.sets);
    this.capLeft = new Int32Array(compiled.capMax.length);
  }

  /** Begins with `left` pods of `items` (ascending). */
  start(items: Int32Array, left: Int32Array): void {
    this.items.set(items);
    this.size = items.length;
    this.left = left;
  }

  /** Computes the sums after pods were packed; returns whether any are left. */
  count(): boolean {
    const { items, left, compiled, valuation, kinds, setLive, capLeft } = this;
    const { shapeOf, setOf, capsOf, kindOf } = compiled;
    capLeft.fill(0);
    setLive.fill(0);
    this.live = 0;
    this.worth = 0;
    let firstItem = -1;
    let live = 0;
    for (let k = 0; k < this.size; k++) {
      const item = items[k]!;
      const pods = left[item]!;
      if (pods === 0) continue;
      items[live++] = item;
      const shape = shapeOf[item]!;
      const set = setOf[shape]!;
      setLive[set] = 1;
      this.worth += pods * valuation.worth[shape]!;
      const kind = kindOf[shape]!;
      if (this.live === 0 || kinds[this.live - 1] !== kind) kinds[this.live++] = kind;
      const caps = capsOf[item]!;
      for (let c = 0; c < caps.length; c++) capLeft[caps[c]!] = capLeft[caps[c]!]! + pods;
      if (firstItem < 0 || this.comesFirst(shape, shapeOf[firstItem]!)) firstItem = item;
    }
    this.size = live;
    this.firstItem = firstItem;
    return firstItem >= 0;
  }

  /**
   * Chooses the seed of the next bin. If caps require more bins than resources do: an item of the scarcest cap.
   * Otherwise: the largest item of the most expensive set.
   */
  seed(): Seed {
    const { compiled, capLeft, valuation, items, left } = this;
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
        if (item < 0 || valuation.worth[shapeOf[i]!]! > valuation.worth[shapeOf[item]!]!) item = i;
      }
      const set = setOf[shapeOf[item]!]!;
      const own = this.worthOfCompeting(set);
      if (own < needed * valuation.bestPrice(set))
        return this.sumUsable({ item, set, forced: true, share: own / needed });
    }
    return this.sumUsable({ item: this.firstItem, set: setOf[shapeOf[this.firstItem]!]!, forced: false, share: 0 });
  }

  /** Sums what one bin could use, by set and by supply. */
  private sumUsable(seed: Seed): Seed {
    const { compiled, items, left, own, others, othersRate, usable, usablePods, valuation } = this;
    const { dims, demand, setOf, shapeOf, supply } = compiled;
    const dear = alike * valuation.meanPodWorth[seed.set]!;
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
        const isDear = valuation.meanPodWorth[set]! >= dear;
        const sum = isDear ? own : others;
        for (let d = 0; d < dims; d++) sum[k * dims + d] = sum[k * dims + d]! + usable[set * dims + d]!;
        if (isDear) continue;
        pods += usablePods[set]!;
        rate += usablePods[set]! * valuation.meanPodWorth[set]!;
      }
      othersRate[k] = pods > 0 && dear > 0 ? rate / pods / valuation.meanPodWorth[seed.set]! : 0;
    }
    return seed;
  }

  /**
   * Sets the phase in which a bin of `offer` admits each set: 1 first, 2 as filler, 0 never. Returns whether there is
   * filler.
   */
  setPhases(offer: number, seed: Seed, phase: Uint8Array): boolean {
    const { compiled, valuation, setLive } = this;
    const dear = alike * valuation.meanPodWorth[seed.set]!;
    let filler = false;
    for (let set = 0; set < compiled.sets; set++) {
      phase[set] = 0;
      if (setLive[set] === 0 || compiled.inSet[offer * compiled.sets + set] === 0) continue;
      phase[set] = valuation.meanPodWorth[set]! >= dear ? 1 : 2;
      if (phase[set] === 2) filler = true;
    }
    return filler;
  }

  /** Worth of the remaining pods of sets that come first beside `set` and share offers with it. */
  private worthOfCompeting(set: number): number {
    const { compiled, valuation, items, left, competingSets } = this;
    const { supply, setOf, shapeOf } = compiled;
    const dear = alike * valuation.meanPodWorth[set]!;
    competingSets.fill(0);
    for (const sets of supply.sets) {
      if (!sets.includes(set)) continue;
      for (const other of sets) if (valuation.meanPodWorth[other]! >= dear) competingSets[other] = 1;
    }
    let worth = 0;
    for (let k = 0; k < this.size; k++) {
      const shape = shapeOf[items[k]!]!;
      if (competingSets[setOf[shape]!] === 1) worth += left[items[k]!]! * valuation.worth[shape]!;
    }
    return worth;
  }

  private comesFirst(a: number, b: number): boolean {
    const { valuation, compiled } = this;
    if (valuation.scarce[a] !== valuation.scarce[b]) return valuation.scarce[a] === 1;
    const difference = valuation.setRank[compiled.setOf[a]!]! - valuation.setRank[compiled.setOf[b]!]!;
    return difference !== 0 ? difference < 0 : valuation.worth[a]! > valuation.worth[b]!;
  }

  /** The share of the remaining pods of `item` that caps let one bin hold, if the items of a cap share it evenly. */
  private shareInOneBin(item: number): number {
    const { capsOf, capMax } = this.compiled;
    const caps = capsOf[item]!;
    let share = 1;
    for (let c = 0; c < caps.length; c++) share = Math.min(share, capMax[caps[c]!]! / this.capLeft[caps[c]!]!);
    return share;
  }
}

import type { CompiledProblem } from './compile.js';

/** Fills one bin with the whole pods that are worth most together: a depth-first search with a bounded number of steps. Scratch space is reused. */
export class Knapsack {
  /** Bounds the steps of one search. */
  maxSteps = 0;
  private value: Float64Array;
  private left: Int32Array;
  /** Items that the bin admits, by worth for their size: the first `candidates`. */
  private readonly order: Int32Array;
  private candidates = 0;
  /** By offer and place in `items`: the sum of the shares of an empty bin's resources that a pod takes; -1 if it is not admitted. */
  private readonly sizes: Float64Array;
  /** By item: its size in the offer that is being filled, and its worth for that size. */
  private readonly size: Float64Array;
  private readonly density: Float64Array;
  private readonly count: Int32Array;
  private readonly bestCount: Int32Array;
  private readonly residual: Float64Array;
  private readonly capUse: Int32Array;
  private readonly blocked: Int32Array;
  private stepsLeft = 0;
  private mostWorth = 0;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly items: Int32Array,
  ) {
    this.value = new Float64Array(compiled.items);
    this.left = new Int32Array(compiled.items);
    this.order = new Int32Array(items.length);
    this.sizes = Float64Array.from({ length: compiled.offers * items.length }, (_, k) =>
      sizeOf(compiled, Math.floor(k / items.length), items[k % items.length]!),
    );
    this.size = new Float64Array(compiled.items);
    this.density = new Float64Array(compiled.items);
    this.count = new Int32Array(compiled.items);
    this.bestCount = new Int32Array(compiled.items);
    this.residual = new Float64Array(compiled.dims);
    this.capUse = new Int32Array(compiled.capMax.length);
    this.blocked = new Int32Array(compiled.items);
  }

  /** Sets what a pod of each item is worth, and how many there are. */
  aim(value: Float64Array, left: Int32Array): void {
    this.value = value;
    this.left = left;
  }

  /** The most worth that was found for a bin of the offer, or `least` if that is no more. */
  fill(offer: number, least: number): number {
    const { compiled, order, density, residual, bestCount } = this;
    const { dims, capacity } = compiled;
    bestCount.fill(0);
    this.mostWorth = least;
    // Most bins are not worth their price whatever they hold.
    if (this.listCandidates(offer) * dims <= least * (1 + 1e-9)) return least;
    order.subarray(0, this.candidates).sort((a, b) => density[b]! - density[a]! || a - b);
    for (let d = 0; d < dims; d++) residual[d] = capacity[offer * dims + d]!;
    this.stepsLeft = this.maxSteps;
    this.search(0, 0, dims);
    return this.mostWorth;
  }

  /** What `fill` found last. */
  found(): { items: Int32Array; pods: Int32Array } {
    const items = this.items.filter((item) => this.bestCount[item]! > 0);
    return { items, pods: items.map((item) => this.bestCount[item]!) };
  }

  /** Lists the items that a bin of the offer admits; returns the highest worth for its size of any. */
  private listCandidates(offer: number): number {
    const { items, order, value, left, size, density, sizes } = this;
    const at = offer * items.length;
    this.candidates = 0;
    let most = 0;
    for (let k = 0; k < items.length; k++) {
      const item = items[k]!;
      const own = sizes[at + k]!;
      if (own < 0 || left[item] === 0 || value[item]! <= 0) continue;
      size[item] = own;
      density[item] = value[item]! / Math.max(own, 1e-12);
      if (density[item] > most) most = density[item]!;
      order[this.candidates++] = item;
    }
    return most;
  }

  /** Tries the candidates from `from` on, in a bin whose content is worth `worth` and that has `room` left, as a sum of shares. */
  private search(from: number, worth: number, room: number): void {
    const { order, density, size } = this;
    if (worth > this.mostWorth) {
      this.mostWorth = worth;
      this.bestCount.set(this.count);
    }
    for (let k = from; k < this.candidates; k++) {
      const item = order[k]!;
      if (worth + density[item]! * room <= this.mostWorth * (1 + 1e-9)) return;
      for (let n = this.fits(item); n > 0; n--) {
        if (this.stepsLeft <= 0) return;
        this.stepsLeft--;
        this.put(item, n);
        this.search(k + 1, worth + n * this.value[item]!, room - n * size[item]!);
        this.put(item, -n);
      }
    }
  }

  /** How many pods of the item fit beside what is inside. */
  private fits(item: number): number {
    const { compiled, residual, capUse, blocked } = this;
    if (blocked[item]! > 0) return 0;
    const { dims, demand, shapeOf, capsOf, capMax } = compiled;
    const at = shapeOf[item]! * dims;
    let most = this.left[item]!;
    for (const cap of capsOf[item]!) most = Math.min(most, capMax[cap]! - capUse[cap]!);
    for (let d = 0; d < dims; d++) {
      const amount = demand[at + d]!;
      if (amount * most > residual[d]!) most = Math.floor(residual[d]! / amount);
    }
    return most;
  }

  /** Adds pods, or takes them out again. */
  private put(item: number, n: number): void {
    const { compiled, residual, capUse, blocked, count } = this;
    const { dims, demand, shapeOf, capsOf, conflictsOf } = compiled;
    const at = shapeOf[item]! * dims;
    for (let d = 0; d < dims; d++) residual[d] = residual[d]! - n * demand[at + d]!;
    count[item] = count[item]! + n;
    for (const cap of capsOf[item]!) capUse[cap] = capUse[cap]! + n;
    for (const other of conflictsOf[item]!) blocked[other] = blocked[other]! + Math.sign(n);
  }
}

/** How much of an empty bin of the offer a pod of the item takes, all resources together; -1 where the bin does not admit it. */
function sizeOf(
  { dims, capacity, demand, shapeOf, setOf, inSet, sets }: CompiledProblem,
  offer: number,
  item: number,
): number {
  const shape = shapeOf[item]!;
  if (inSet[offer * sets + setOf[shape]!] === 0) return -1;
  let size = 0;
  for (let d = 0; d < dims; d++) {
    const amount = demand[shape * dims + d]!;
    if (amount > capacity[offer * dims + d]!) return -1;
    if (amount > 0) size += amount / capacity[offer * dims + d]!;
  }
  return size;
}

import type { CompiledProblem } from './compile.js';

/** Fills one bin with whole pods that are worth most together, looking at a few ways to do so. Scratch space is reused. */
export class OneFill {
  /** How many partly filled bins are looked at. */
  looks = 0;
  private value: Float64Array;
  private left: Int32Array;
  /** Items that the bin admits, those with most worth for their size first: the first `candidates`. */
  private readonly order: Int32Array;
  private candidates = 0;
  /** By offer and place in `items`: the shares of an empty bin's resources that a pod takes together; -1 where it is not admitted. */
  private readonly sizes: Float64Array;
  /** By item: that of the offer that is being filled, and its worth for that. */
  private readonly size: Float64Array;
  private readonly density: Float64Array;
  private readonly count: Int32Array;
  private readonly best: Int32Array;
  private readonly residual: Float64Array;
  private readonly capUse: Int32Array;
  private readonly blocked: Int32Array;
  private looksLeft = 0;
  private most = 0;

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
    this.best = new Int32Array(compiled.items);
    this.residual = new Float64Array(compiled.dims);
    this.capUse = new Int32Array(compiled.capMax.length);
    this.blocked = new Int32Array(compiled.items);
  }

  /** What a pod of each item is worth from now on, and how many there are. */
  aim(value: Float64Array, left: Int32Array): void {
    this.value = value;
    this.left = left;
  }

  /** The most worth that was found for a bin of the offer, or `least` if that is no more. */
  fill(offer: number, least: number): number {
    const { compiled, order, density, residual, best } = this;
    const { dims, capacity } = compiled;
    best.fill(0);
    this.most = least;
    // Most bins are not worth their price whatever comes into them.
    if (this.rate(offer) * dims <= least * (1 + 1e-9)) return least;
    order.subarray(0, this.candidates).sort((a, b) => density[b]! - density[a]! || a - b);
    for (let d = 0; d < dims; d++) residual[d] = capacity[offer * dims + d]!;
    this.looksLeft = this.looks;
    this.search(0, 0, dims);
    return this.most;
  }

  /** What `fill` found last. */
  found(): { items: Int32Array; pods: Int32Array } {
    const items = this.items.filter((item) => this.best[item]! > 0);
    return { items, pods: items.map((item) => this.best[item]!) };
  }

  /** Lists what may come into a bin of the offer; the most that any of it is worth for its size. */
  private rate(offer: number): number {
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

  /** Adds candidates from the `from`-th on to a bin that is worth `worth` and has shares of `room` together left. */
  private search(from: number, worth: number, room: number): void {
    const { order, density, size } = this;
    if (worth > this.most) {
      this.most = worth;
      this.best.set(this.count);
    }
    for (let k = from; k < this.candidates; k++) {
      const item = order[k]!;
      if (worth + density[item]! * room <= this.most * (1 + 1e-9)) return;
      for (let n = this.fits(item); n > 0; n--) {
        if (this.looksLeft <= 0) return;
        this.looksLeft--;
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

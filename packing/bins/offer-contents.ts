import { ContentSearch } from './best-content.js';
import type { CompiledProblem } from './compile.js';
import { doesOpen } from './openers.js';

/**
 * Finds the content with the highest worth for a bin of an offer by branch and bound. `Knapsack` is faster, but reduces
 * all resources of a pod to one number, and so misses contents whose pods complement each other in different resources.
 */
export class OfferContents {
  private readonly search: ContentSearch;
  /** By item: how many pods are left. */
  private readonly pods: Int32Array;
  /** Number of amounts of an item: its resources, then one for each cap. */
  private readonly width: number;
  private value: Float64Array = new Float64Array(0);
  /** By offer: the multipliers of its last search, where the next one starts. */
  private readonly multipliers = new Map<number, Float64Array>();
  /** By supply: items that its bins may hold. */
  private readonly itemsOf = new Map<number, Int32Array>();
  /** By offer: whether each item can open a bin of it. */
  private readonly openers = new Map<number, Uint8Array>();

  constructor(private readonly compiled: CompiledProblem) {
    const { items, dims, demand, shapeOf, capsOf, capMax, conflictsOf } = compiled;
    const width = (this.width = dims + capMax.length);
    this.pods = new Int32Array(items);
    const weight = new Float64Array(items * width);
    for (let item = 0; item < items; item++) {
      for (let d = 0; d < dims; d++) weight[item * width + d] = demand[shapeOf[item]! * dims + d]!;
      for (const cap of capsOf[item]!) weight[item * width + dims + cap] = 1;
    }
    const conflicts = conflictsOf.map((others) => [...others]);
    this.search = new ContentSearch({ width, weight, pods: this.pods, conflicts });
  }

  /** Steps and evaluations so far. */
  get work(): number {
    return this.search.work;
  }

  set work(spent: number) {
    this.search.work = spent;
  }

  /** Sets the worth of a pod of each item, and the number of pods. */
  aim(value: Float64Array, left: Int32Array): void {
    this.value = value;
    this.pods.set(left);
  }

  /** The best content found, if it is worth more than `floor`. */
  best(
    offer: number,
    { floor, steps }: { readonly floor: number; readonly steps: number },
  ): { items: Int32Array; pods: Int32Array } | undefined {
    const bin = { capacity: this.capacityOf(offer), multipliers: this.multipliersOf(offer) };
    const openers = this.openersOf(offer);
    const { found } = this.search.run(bin, this.itemsIn(offer), this.value, {
      floor,
      steps,
      ...(openers && { openers }),
    });
    if (found === undefined) return undefined;
    const order = Array.from(found.items.keys()).sort((a, b) => found.items[a]! - found.items[b]!);
    return {
      items: Int32Array.from(order, (k) => found.items[k]!),
      pods: Int32Array.from(order, (k) => found.pods[k]!),
    };
  }

  private capacityOf(offer: number): Float64Array {
    const { dims, capacity, capMax } = this.compiled;
    const amounts = new Float64Array(this.width);
    amounts.set(capacity.subarray(offer * dims, (offer + 1) * dims));
    amounts.set(capMax, dims);
    return amounts;
  }

  private multipliersOf(offer: number): Float64Array {
    let known = this.multipliers.get(offer);
    if (known === undefined) this.multipliers.set(offer, (known = new Float64Array(this.width)));
    return known;
  }

  private itemsIn(offer: number): Int32Array {
    const { supply, items: count, inSet, sets, setOf, shapeOf } = this.compiled;
    let items = this.itemsOf.get(supply.of[offer]!);
    if (items === undefined) {
      items = Int32Array.from({ length: count }, (_, item) => item);
      items = items.filter((item) => inSet[offer * sets + setOf[shapeOf[item]!]!] === 1);
      this.itemsOf.set(supply.of[offer]!, items);
    }
    return items;
  }

  private openersOf(offer: number): Uint8Array | undefined {
    const { compiled } = this;
    if (compiled.opens === undefined) return undefined;
    let openers = this.openers.get(offer);
    if (openers === undefined) {
      openers = Uint8Array.from({ length: compiled.items }, (_, item) => (doesOpen(compiled, offer, item) ? 1 : 0));
      this.openers.set(offer, openers);
    }
    return openers;
  }
}

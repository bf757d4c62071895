/** A max-heap of the numbers below `count` by a rate that never rises; of equal rates the lowest number comes first. */
export class RateHeap {
  readonly rate: Float64Array;
  private readonly heap: Int32Array;
  size = 0;

  constructor(count: number) {
    this.rate = new Float64Array(count);
    this.heap = new Int32Array(count);
  }

  /** Removes and returns the first; the heap must not be empty. */
  pop(): number {
    const { heap } = this;
    const top = heap[0]!;
    const last = heap[--this.size]!;
    if (this.size > 0) this.sink(last);
    return top;
  }

  /** The rate of the first; zero if empty. */
  get highest(): number {
    return this.size === 0 ? 0 : this.rate[this.heap[0]!]!;
  }

  push(each: number, rate: number): void {
    const { heap } = this;
    this.rate[each] = rate;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(each, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = each;
  }

  private sink(each: number): void {
    const { heap, size } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!this.isBefore(heap[child]!, each)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = each;
  }

  private isBefore(a: number, b: number): boolean {
    const { rate } = this;
    return rate[a]! > rate[b]! || (rate[a] === rate[b] && a < b);
  }
}

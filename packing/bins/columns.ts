import { epsilon } from './simplex.js';

/** A column of a linear program: `values[k]` in row `index[k]`. */
export interface Column {
  readonly index: readonly number[];
  readonly values: readonly number[];
  readonly cost: number;
}

/** Columns that are offered to a program again and again: one after the other in memory, since nearly all of them are turned down. */
export class Columns {
  count = 0;
  private index = new Int32Array(256);
  private values = new Float64Array(256);
  private readonly ends: number[] = [0];
  private readonly costs: number[] = [];

  add({ index, values, cost }: Column): void {
    const from = this.ends[this.count]!;
    const to = from + index.length;
    if (to > this.index.length) {
      const longer = Math.max(to, 2 * this.index.length);
      const before = { index: this.index, values: this.values };
      this.index = new Int32Array(longer);
      this.index.set(before.index);
      this.values = new Float64Array(longer);
      this.values.set(before.values);
    }
    this.index.set(index, from);
    this.values.set(values, from);
    this.ends.push(to);
    this.costs.push(cost);
    this.count++;
  }

  /** The first column from `from` on that costs less than what it covers is worth at these duals; `count` where there is none. */
  firstUnder(duals: Float64Array, from: number): number {
    const { index, values, ends, costs, count } = this;
    for (let column = from; column < count; column++) {
      const cost = costs[column]!;
      const end = ends[column + 1]!;
      let reduced = cost;
      for (let k = ends[column]!; k < end; k++) reduced -= duals[index[k]!]! * values[k]!;
      if (reduced < -epsilon * (1 + Math.abs(cost))) return column;
    }
    return count;
  }

  at(column: number): { index: Int32Array; values: Float64Array; cost: number } {
    const from = this.ends[column]!;
    const to = this.ends[column + 1]!;
    return { index: this.index.subarray(from, to), values: this.values.subarray(from, to), cost: this.costs[column]! };
  }
}

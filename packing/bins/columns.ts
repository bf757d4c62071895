import { epsilon } from './simplex.js';

/** A column of a linear program: `values[k]` in row `index[k]`. */
export interface Column {
  readonly index: readonly number[];
  readonly values: readonly number[];
  readonly cost: number;
}

/** Columns that are priced against a program repeatedly. Stored contiguously, since nearly all of them are rejected. */
export class Columns {
  count = 0;
  private index = new Int32Array(256);
  private values = new Float64Array(256);
  private readonly ends: number[] = [0];
  private readonly costs: number[] = [];
  private readonly origins: number[] = [];

  /** `origin` is the caller's number of the column. */
  add({ index, values, cost }: Column, origin: number): void {
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
    this.origins.push(origin);
    this.count++;
  }

  /**
   * The column from `from` on with the highest worth per cost at these duals; -1 if none is worth more than it costs.
   */
  best(duals: Float64Array, from: number): number {
    const { index, values, ends, costs, count } = this;
    let best = -1;
    let highest = 1;
    for (let column = from; column < count; column++) {
      const cost = costs[column]!;
      const end = ends[column + 1]!;
      let worth = 0;
      for (let k = ends[column]!; k < end; k++) worth += duals[index[k]!]! * values[k]!;
      if (worth <= highest * cost || worth - cost <= epsilon * (1 + Math.abs(cost))) continue;
      highest = worth / Math.max(cost, epsilon);
      best = column;
    }
    return best;
  }

  origin(column: number): number {
    return this.origins[column]!;
  }

  at(column: number): { index: Int32Array; values: Float64Array; cost: number } {
    const from = this.ends[column]!;
    const to = this.ends[column + 1]!;
    return { index: this.index.subarray(from, to), values: this.values.subarray(from, to), cost: this.costs[column]! };
  }
}

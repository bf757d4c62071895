/** Pivots and reduced costs below this count as zero; rows are scaled to about one. */
export const epsilon = 1e-9;

/**
 * Revised simplex with a dense inverse for `min cost·x, A x >= rhs, x >= 0`, built for column generation: columns are
 * offered one at a time and only basic columns are stored. Starts from one given column per row.
 */
export class CoveringSimplex {
  readonly duals: Float64Array;
  /** Level of each basic column. */
  readonly level: Float64Array;
  /** Caller's number of each basic column; -1 - row for a surplus. */
  readonly basis: Int32Array;
  private readonly inverse: Float64Array;
  private readonly direction: Float64Array;
  /** Scratch space of `pivot`. */
  private readonly nonzero: Int32Array;
  private readonly rows: number;

  /** `diagonal[r]` is what the start column of row `r` covers of that row alone, at `cost[r]`; its number is `r`. */
  constructor(rhs: Float64Array, diagonal: Float64Array, cost: Float64Array) {
    const rows = (this.rows = rhs.length);
    this.inverse = new Float64Array(rows * rows);
    this.direction = new Float64Array(rows);
    this.nonzero = new Int32Array(rows);
    this.duals = new Float64Array(rows);
    this.level = new Float64Array(rows);
    this.basis = new Int32Array(rows);
    for (let r = 0; r < rows; r++) {
      this.inverse[r * rows + r] = 1 / diagonal[r]!;
      this.duals[r] = cost[r]! / diagonal[r]!;
      this.level[r] = rhs[r]! / diagonal[r]!;
      this.basis[r] = r;
    }
  }

  /** Enters a column with `values[k]` in row `index[k]`. Returns false if it would not lower the cost. */
  enter(index: ArrayLike<number>, values: ArrayLike<number>, cost: number, number: number): boolean {
    const { rows, inverse, direction, duals } = this;
    let reduced = cost;
    for (let k = 0; k < index.length; k++) reduced -= duals[index[k]!]! * values[k]!;
    if (reduced >= -epsilon * (1 + Math.abs(cost))) return false;
    for (let i = 0; i < rows; i++) {
      let sum = 0;
      for (let k = 0; k < index.length; k++) sum += inverse[i * rows + index[k]!]! * values[k]!;
      direction[i] = sum;
    }
    return this.pivot(reduced, number);
  }

  /** Enters the surplus of the most negative dual; returns false if none is negative. */
  enterSurplus(): boolean {
    const { rows, inverse, direction, duals } = this;
    let row = -1;
    let least = -epsilon;
    for (let r = 0; r < rows; r++) {
      if (duals[r]! < least) {
        least = duals[r]!;
        row = r;
      }
    }
    if (row < 0) return false;
    for (let i = 0; i < rows; i++) direction[i] = -inverse[i * rows + row]!;
    return this.pivot(least, -1 - row);
  }

  private pivot(reduced: number, number: number): boolean {
    const { rows, inverse, direction, duals, level, nonzero } = this;
    let leave = -1;
    let step = Infinity;
    for (let i = 0; i < rows; i++) {
      if (direction[i]! <= epsilon) continue;
      const ratio = level[i]! / direction[i]!;
      if (ratio < step - 1e-12 || (ratio <= step && direction[i]! > direction[leave]!)) {
        step = ratio;
        leave = i;
      }
    }
    if (leave < 0) return false;
    const scale = 1 / direction[leave]!;
    const at = leave * rows;
    // Most of a row is zero if columns cover few rows.
    let used = 0;
    for (let c = 0; c < rows; c++) {
      if (inverse[at + c]! === 0) continue;
      const value = inverse[at + c]! * scale;
      inverse[at + c] = value;
      duals[c] = duals[c]! + reduced * value;
      nonzero[used++] = c;
    }
    for (let i = 0; i < rows; i++) {
      const factor = direction[i]!;
      if (i === leave || factor === 0) continue;
      const row = i * rows;
      for (let k = 0; k < used; k++) {
        const c = nonzero[k]!;
        inverse[row + c] = inverse[row + c]! - factor * inverse[at + c]!;
      }
      level[i] = Math.max(0, level[i]! - step * factor);
    }
    level[leave] = step;
    this.basis[leave] = number;
    return true;
  }
}

import type { CompiledProblem } from './compile.js';
import type { FeasibleWorth } from './resource-lp.js';
import { CoveringSimplex } from './simplex.js';

/** Cells of the finest grid on which bins are filled. */
const mostCells = 4096;
/** A pattern worth less than this above its cost ends the search for patterns. */
const tolerance = 1.0005;

/** What other resources count as, in multiples of their proven worth: each offer has the one that serves it best. */
const multiples = [1, 0, 0.5, 1.5, 2, 3];
/** How often offers choose anew. */
const rounds = 3;

export interface ItemBound {
  readonly bound: number;
  /** Value of one pod of each item: no bin holds more value than its price, caps and conflicts left out. */
  readonly value: Float64Array;
  /** By offer, how much of its price the best pattern of whole pods is worth, at least about so. */
  readonly tightness: Float64Array;
}

/**
 * A lower bound that knows that pods come whole: a pattern of whole pods must fit its bin exactly in one resource (on a grid),
 * while the others are priced, from bin to bin at another multiple of what `proven`, a feasible worth, says. Patterns are made
 * as needed by dynamic programming, one pass for all sizes of bin; the bound is valid whenever the units end it. Caps and
 * conflicts are left out. Undefined where the units do not suffice to begin.
 */
export function itemBound(
  compiled: CompiledProblem,
  items: Int32Array,
  proven: FeasibleWorth,
  units: number,
): ItemBound | undefined {
  if (items.length === 0) return undefined;
  const program = new ItemProgram(compiled, items, proven);
  return program.possible(units) ? program.run(units) : undefined;
}

/** What the offers of one supply that count other resources alike have on the grid. */
interface Grid {
  /** Least cost of a bin of at least so many cells, less what its other resources are worth. */
  readonly base: Float64Array;
  /** Rows of the items that the supply admits. */
  readonly rows: Int32Array;
  /** By item in `rows`: what its other resources are worth. */
  readonly rest: Float64Array;
}

class ItemProgram {
  private readonly main: number;
  private readonly cell: number;
  private readonly cells: number;
  private readonly ceilings: Float64Array[];
  /** By offer, which of `multiples` its other resources count at. */
  private readonly multiple: Uint8Array;
  /** The items, and the cells of each. */
  private readonly rows: Int32Array;
  private readonly size: Int32Array;
  private readonly best: Float64Array;
  private readonly choice: Int32Array;
  private work = 0;

  constructor(
    private readonly compiled: CompiledProblem,
    items: Int32Array,
    private readonly proven: FeasibleWorth,
  ) {
    const { dims, shapeOf, demand } = compiled;
    this.main = this.mainResource(items);
    const amount = (item: number): number => demand[shapeOf[item]! * dims + this.main]!;
    this.rows = items.filter((item) => this.main >= 0 && compiled.pods[item]! > 0);
    let largest = 0;
    for (let o = 0; o < compiled.offers; o++) largest = Math.max(largest, compiled.capacity[o * dims + this.main]!);
    const common = this.rows.reduce((divisor, item) => gcd(divisor, amount(item)), 0);
    this.cell = Math.max(common, largest / mostCells);
    // Rounding down the pods and the bins alike can only make more fit.
    this.size = this.rows.map((item) => Math.floor(amount(item) / this.cell + 1e-9));
    this.cells = Math.floor(largest / this.cell + 1e-9);
    this.best = new Float64Array(this.cells + 1);
    this.choice = new Int32Array(this.cells + 1);
    this.ceilings = this.makeCeilings();
    this.multiple = new Uint8Array(compiled.offers);
  }

  /** Whether the units suffice for some rounds. */
  possible(units: number): boolean {
    const round = this.compiled.supply.count * this.cells * this.rows.length;
    return this.rows.length > 0 && !this.size.includes(0) && round * (8 + this.rows.length / 4) < units;
  }

  run(units: number): ItemBound {
    const { compiled, rows } = this;
    let best = this.solve(units / rounds);
    for (let round = 1; round < rounds && this.work < units; round++) {
      this.chooseMultiples(best.value);
      const next = this.solve((units * (round + 1)) / rounds);
      if (next.total <= best.total * (1 + 1e-6)) break;
      best = next;
    }
    const value = new Float64Array(compiled.items);
    for (let i = 0; i < value.length; i++) value[i] = this.worth(i, -1);
    rows.forEach((item, row) => (value[item] = best.value[row]!));
    return { bound: best.total, value, tightness: this.chooseMultiples(best.value) };
  }

  /** The linear program over patterns at the multiples of now; feasible values of rows and their sum over all pods. */
  private solve(units: number): Proof {
    const { rows } = this;
    const { pods } = this.compiled;
    const grids = this.makeGrids();
    const start = Array.from(rows, (_, r) => this.alone(grids, r));
    const simplex = new CoveringSimplex(
      Float64Array.from(rows, (item, r) => pods[item]! * (1 + 1e-7 * ((r * 7919) % 101))),
      Float64Array.from(start, ({ count }) => count),
      Float64Array.from(start, ({ cost }) => cost),
    );
    let best: Proof = { total: -Infinity, value: new Float64Array(rows.length) };
    for (let moved = true; moved && this.work <= units;) {
      moved = false;
      const before = Float64Array.from(simplex.duals);
      const found = grids.map((grid) => this.price(grid, before));
      const proof = this.proofOf(grids, before, found.map(({ excess }) => excess)); // prettier-ignore
      if (proof.total > best.total) best = proof;
      for (const { columns } of found) for (const column of columns) moved = this.enter(column, simplex) || moved;
    }
    return best;
  }

  /** Gives every offer the multiple at which its bins hold least beside their price; what they hold then of their price. */
  private chooseMultiples(value: Float64Array): Float64Array {
    const { compiled, main, multiple, ceilings } = this;
    const { dims, supply, capacity, price } = compiled;
    const least = new Float64Array(compiled.offers).fill(Infinity);
    for (let m = 0; m < multiples.length; m++) {
      for (let k = 0; k < supply.count; k++) {
        const { rows, rest } = this.rowsOf(k, m);
        this.fill(
          rows,
          Float64Array.from(rows, (row, n) => value[row]! - rest[n]!),
          this.cells + 1,
        );
        for (let o = 0; o < compiled.offers; o++) {
          if (supply.of[o] !== k) continue;
          let other = 0;
          for (let d = 0; d < dims; d++) other += multiples[m]! * ceilings[k]![d]! * capacity[o * dims + d]!;
          const cells = Math.floor(capacity[o * dims + main]! / this.cell + 1e-9);
          const held = (this.best[cells]! + other) / Math.max(price[o]!, 1e-12);
          if (other > price[o]! * (1 - 1e-9) || held >= least[o]!) continue;
          least[o] = held;
          multiple[o] = m;
        }
      }
    }
    return least;
  }

  /** Fills bins of all sizes below `cells` with what gains most: `best` by size, `choice` the last pod in. */
  private fill(rows: Int32Array, gain: Float64Array, cells: number): void {
    const { best, choice, size } = this;
    const order: number[] = [];
    for (let k = 0; k < rows.length; k++) if (gain[k]! > 0) order.push(k);
    this.work += cells * (order.length + 1);
    for (let c = 1; c < cells; c++) {
      let most = best[c - 1]!;
      let chosen = -1;
      for (let n = 0; n < order.length; n++) {
        const k = order[n]!;
        const before = c - size[rows[k]!]!;
        if (before < 0) continue;
        const total = best[before]! + gain[k]!;
        if (total > most) {
          most = total;
          chosen = k;
        }
      }
      best[c] = most;
      choice[c] = chosen;
    }
  }

  /** The most that a bin of the grid is worth beside its cost, and the patterns that say so. */
  private price(grid: Grid, duals: Float64Array): { excess: number; columns: Column[] } {
    const { best } = this;
    const { base, rows, rest } = grid;
    this.fill(
      rows,
      Float64Array.from(rows, (row, k) => duals[row]! - rest[k]!),
      base.length,
    );
    // The best among small bins and among large ones: they are of different use.
    const columns: Column[] = [];
    let excess = 1;
    for (let from = 1; from < base.length; from *= 4) {
      let highest = tolerance;
      let at = -1;
      for (let c = from; c < Math.min(base.length, from * 4); c++) {
        excess = Math.max(excess, best[c]! / base[c]!);
        if (best[c]! <= highest * base[c]!) continue;
        highest = best[c]! / base[c]!;
        at = c;
      }
      if (at >= 0) columns.push(this.pattern(grid, at));
    }
    return { excess, columns };
  }

  private pattern(grid: Grid, cells: number): Column {
    const counts = new Map<number, number>();
    let cost = grid.base[cells]!;
    for (let c = cells; c > 0;) {
      const k = this.choice[c]!;
      if (k < 0) {
        c--;
        continue;
      }
      const row = grid.rows[k]!;
      counts.set(row, (counts.get(row) ?? 0) + 1);
      cost += grid.rest[k]!;
      c -= this.size[row]!;
    }
    return { rows: [...counts.keys()], counts: [...counts.values()], cost };
  }

  private enter(column: Column, simplex: CoveringSimplex): boolean {
    this.work += (simplex.duals.length * simplex.duals.length) >> 1;
    const moved = simplex.enter(column.rows, column.counts, column.cost, this.rows.length);
    while (simplex.enterSurplus()) this.work += simplex.duals.length;
    return moved;
  }

  /** Scales the duals down, grid by grid, until no pattern exceeds its cost; what they prove then. */
  private proofOf(grids: readonly Grid[], duals: Float64Array, excess: readonly number[]): Proof {
    const value = Float64Array.from(duals, (dual) => Math.max(0, dual));
    grids.forEach((grid, g) => {
      grid.rows.forEach((row, k) => {
        const gain = duals[row]! - grid.rest[k]!;
        if (gain > 0) value[row] = Math.min(value[row]!, gain / excess[g]! + grid.rest[k]!);
      });
    });
    return { total: this.rows.reduce((sum, item, row) => sum + this.compiled.pods[item]! * value[row]!, 0), value };
  }

  /** The cheapest way to buy bins for one item alone: how many of it a bin holds, and the cost. */
  private alone(grids: readonly Grid[], row: number): { count: number; cost: number } {
    let best = { count: 1, cost: Infinity };
    for (const grid of grids) {
      const k = grid.rows.indexOf(row);
      if (k < 0) continue;
      for (let c = this.size[row]!; c < grid.base.length; c++) {
        const count = Math.floor(c / this.size[row]!);
        const cost = grid.base[c]! + count * grid.rest[k]!;
        if (cost / count < best.cost / best.count) best = { count, cost };
      }
    }
    return best;
  }

  /** Of the resources that every item demands, the one that most of the worth lies in; -1 where there is none. */
  private mainResource(items: Int32Array): number {
    const { dims, shapeOf, setOf, demand, pods } = this.compiled;
    let main = -1;
    let most = -1;
    for (let d = 0; d < dims; d++) {
      let share = 0;
      for (const item of items) {
        const shape = shapeOf[item]!;
        const amount = demand[shape * dims + d]!;
        if (amount <= 0) share = -Infinity;
        share += pods[item]! * this.proven.resource[setOf[shape]! * dims + d]! * amount;
      }
      if (share <= most) continue;
      most = share;
      main = d;
    }
    return main;
  }

  /** Proven worth of a pod, without one resource. */
  private worth(item: number, without: number): number {
    const { dims, shapeOf, setOf, demand } = this.compiled;
    const shape = shapeOf[item]!;
    let sum = 0;
    for (let d = 0; d < dims; d++) {
      if (d !== without) sum += this.proven.resource[setOf[shape]! * dims + d]! * demand[shape * dims + d]!;
    }
    return sum;
  }

  /** By supply, the most that a unit of each resource but the main one is worth to any of its items. */
  private makeCeilings(): Float64Array[] {
    const { dims, supply } = this.compiled;
    return supply.sets.map((sets) => {
      const ceiling = new Float64Array(dims);
      for (const set of sets) {
        for (let d = 0; d < dims; d++) ceiling[d] = Math.max(ceiling[d]!, this.proven.resource[set * dims + d]!);
      }
      ceiling[this.main] = 0;
      return ceiling;
    });
  }

  /** The rows that a supply admits, and what their other resources count as at a multiple. */
  private rowsOf(supply: number, multiple: number): { rows: Int32Array; rest: Float64Array } {
    const { dims, demand, shapeOf, setOf, supply: supplies } = this.compiled;
    const sets = new Set(supplies.sets[supply]);
    const rows: number[] = [];
    const rest: number[] = [];
    this.rows.forEach((item, row) => {
      const shape = shapeOf[item]!;
      if (!sets.has(setOf[shape]!)) return;
      let sum = 0;
      for (let d = 0; d < dims; d++) sum += this.ceilings[supply]![d]! * demand[shape * dims + d]!;
      rows.push(row);
      rest.push(sum * multiples[multiple]!);
    });
    return { rows: Int32Array.from(rows), rest: Float64Array.from(rest) };
  }

  private makeGrids(): Grid[] {
    const { compiled, main, cells, ceilings, multiple } = this;
    const { dims, supply, capacity, price } = compiled;
    const grids: Grid[] = [];
    for (let k = 0; k < supply.count; k++) {
      for (let m = 0; m < multiples.length; m++) {
        const base = new Float64Array(cells + 1).fill(Infinity);
        let largest = -1;
        for (let o = 0; o < compiled.offers; o++) {
          if (supply.of[o] !== k || multiple[o] !== m) continue;
          let cost = price[o]!;
          for (let d = 0; d < dims; d++) cost -= multiples[m]! * ceilings[k]![d]! * capacity[o * dims + d]!;
          const at = Math.floor(capacity[o * dims + main]! / this.cell + 1e-9);
          base[at] = Math.min(base[at]!, Math.max(cost, 1e-12 * price[o]!));
          largest = Math.max(largest, at);
        }
        if (largest < 0) continue;
        for (let c = largest - 1; c >= 0; c--) base[c] = Math.min(base[c]!, base[c + 1]!);
        grids.push({ base: base.slice(0, largest + 1), ...this.rowsOf(k, m) });
      }
    }
    return grids;
  }
}

/** Feasible values of rows, and their sum over all pods. */
interface Proof {
  readonly total: number;
  readonly value: Float64Array;
}

interface Column {
  readonly rows: number[];
  readonly counts: number[];
  readonly cost: number;
}

function gcd(a: number, b: number): number {
  let x = Math.round(a);
  let y = Math.round(b);
  while (y > 0) [x, y] = [y, x % y];
  return x;
}

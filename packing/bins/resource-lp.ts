import type { CompiledProblem } from './compile.js';
import type { Supplies } from './dominance.js';
import { worthBySet } from './set-worth.js';
import { CoveringSimplex } from './simplex.js';

/** With more rows the joint program takes too long. */
const mostRows = 260;
/** Number of caps in the program if not all fit. */
const fewCaps = 40;

/** A feasible dual solution of the relaxation: no offer can hold pods that are worth more than its price. */
export interface FeasibleWorth {
  /** Worth of a unit of each resource to the items of each set: `resource[set * dims + d]`. */
  readonly resource: Float64Array;
  /** Worth of one pod under each cap. */
  readonly cap: Float64Array;
}

/** For each cap: the offers that may hold some item of it. `reach[cap * offers + offer]`. */
export function capReach(compiled: CompiledProblem): Uint8Array {
  const { offers, sets, capMax, capsOf, shapeOf, setOf, offersOfSet } = compiled;
  const capSets = new Uint8Array(capMax.length * sets);
  for (let i = 0; i < compiled.items; i++) {
    for (const cap of capsOf[i]!) if (compiled.pods[i]! > 0) capSets[cap * sets + setOf[shapeOf[i]!]!] = 1;
  }
  const reach = new Uint8Array(capMax.length * offers);
  for (let cap = 0; cap < capMax.length; cap++) {
    for (let s = 0; s < sets; s++) {
      if (capSets[cap * sets + s] === 0) continue;
      const list = offersOfSet[s]!;
      for (let k = 0; k < list.length; k++) reach[cap * offers + list[k]!] = 1;
    }
  }
  return reach;
}

export interface Demands {
  /** By set and dimension. */
  readonly resource: Float64Array;
  /** Pods by cap. */
  readonly cap: Float64Array;
}

export function demandsOf(compiled: CompiledProblem, pods: Int32Array, items: Int32Array): Demands {
  const { dims, sets, capMax, shapeOf, setOf, demand, capsOf } = compiled;
  const resource = new Float64Array(sets * dims);
  const cap = new Float64Array(capMax.length);
  for (const i of items) {
    const shape = shapeOf[i]!;
    const at = setOf[shape]! * dims;
    for (let d = 0; d < dims; d++) resource[at + d] = resource[at + d]! + pods[i]! * demand[shape * dims + d]!;
    for (const c of capsOf[i]!) cap[c] = cap[c]! + pods[i]!;
  }
  return { resource, cap };
}

/**
 * The duals of buying capacity at the lowest price, where the resources of an offer may be split freely and in
 * fractions among the sets that it admits. Exact if the program is small; otherwise solved set by set, which is not
 * jointly feasible: see `scaledToFeasible`.
 */
export function resourceWorth(
  compiled: CompiledProblem,
  demands: Demands,
  reach: Uint8Array,
  withOpen = false,
): FeasibleWorth {
  const { capMax } = compiled;
  const room = roomForCaps(compiled, demands, withOpen);
  if (room < 0) return { resource: worthBySet(compiled, demands.resource), cap: new Float64Array(capMax.length) };
  return new JointProgram(compiled, withLargestCaps(compiled, demands, room), reach, withOpen).solve();
}

/** How many caps fit into the joint program; negative if it is too large without any cap. */
function roomForCaps({ dims, sets, openSets }: CompiledProblem, demands: Demands, withOpen: boolean): number {
  let active = 0;
  for (let r = 0; r < sets * dims; r++) if (demands.resource[r]! > 0) active++;
  return mostRows - (active + (withOpen ? openSets.length * dims : 0));
}

/** Drops the caps that require fewest bins if there are more than `most` caps: these hardly ever bind. */
function withLargestCaps({ capMax }: CompiledProblem, demands: Demands, most: number): Demands {
  const bins = demands.cap.map((pods, cap) => (capMax[cap]! > 0 ? pods / capMax[cap]! : 0));
  const ordered = Float64Array.from(bins).sort().reverse();
  if (ordered[most] === undefined || ordered[most] === 0) return demands;
  const left = ordered[Math.min(most, fewCaps)]!;
  // Of equal caps either all stay or none, whatever their order.
  return { resource: demands.resource, cap: demands.cap.map((pods, cap) => (bins[cap]! > left ? pods : 0)) };
}

/**
 * Rows are the demands of sets, the caps, and the free amounts of open bins. A column is a bin of an offer whose
 * resources each go to one set that the offer serves: the set with the highest current dual. Several such columns
 * together split resources among sets.
 */
class JointProgram {
  private readonly supply: Supplies;
  private readonly unit: Float64Array;
  /** Row of (set, d) and of each cap; -1 where there is none. */
  private readonly setRow: Int32Array;
  private readonly capRow: Int32Array;
  private readonly simplex: CoveringSimplex;
  /** Pairs of rows (from, to, from, to): from the free amount of a resource in open bins to a set that they admit. */
  private readonly transfers: readonly number[];
  private readonly index: number[] = [];
  private readonly values: number[] = [];
  /** By (supply, d): the row of the set with the highest dual, and that dual. */
  private readonly bestRow: Int32Array;
  private readonly bestRate: Float64Array;

  constructor(
    private readonly compiled: CompiledProblem,
    demands: Demands,
    private readonly reach: Uint8Array,
    withOpen: boolean,
  ) {
    const { dims, sets, capacity, capMax, supply } = compiled;
    this.supply = supply;
    this.bestRow = new Int32Array(supply.count * dims);
    this.bestRate = new Float64Array(supply.count * dims);
    this.unit = new Float64Array(dims).fill(1);
    for (let k = 0; k < capacity.length; k++) this.unit[k % dims] = Math.max(this.unit[k % dims]!, capacity[k]!);
    this.setRow = new Int32Array(sets * dims).fill(-1);
    this.capRow = new Int32Array(capMax.length).fill(-1);
    const rhs: number[] = [];
    const cost: number[] = [];
    // A start column buys its row alone at the best rate of any offer, so it is never better than a whole bin of that
    // offer.
    const rate = this.leastRates();
    for (let set = 0; set < sets; set++) {
      for (let d = 0; d < dims; d++) {
        if (demands.resource[set * dims + d]! <= 0) continue;
        this.setRow[set * dims + d] = rhs.length;
        rhs.push(demands.resource[set * dims + d]! / this.unit[d]!);
        cost.push(rate[set * dims + d]!);
      }
    }
    for (let cap = 0; cap < capMax.length; cap++) {
      if (demands.cap[cap]! <= 0 || capMax[cap]! <= 0) continue;
      this.capRow[cap] = rhs.length;
      rhs.push(demands.cap[cap]! / capMax[cap]!);
      cost.push(this.leastPrice(cap));
    }
    const pairs: number[] = [];
    const diagonal = new Array<number>(rhs.length).fill(1);
    if (withOpen) {
      for (const [row, amount] of this.openSupplies(rhs.length, pairs)) {
        // Free amounts of open bins cost nothing but are limited: minus the use is at least minus the amount.
        rhs[row] = -amount;
        cost[row] = 0;
        diagonal[row] = -1;
      }
    }
    this.transfers = pairs;
    this.simplex = new CoveringSimplex(Float64Array.from(rhs), Float64Array.from(diagonal), Float64Array.from(cost));
  }

  /** The lowest price of a unit of each resource for each set. */
  private leastRates(): Float64Array {
    const { dims, sets, offers, capacity, price, supply } = this.compiled;
    const rate = new Float64Array(sets * dims).fill(1e9);
    for (let o = 0; o < offers; o++) {
      for (let d = 0; d < dims; d++) {
        const amount = capacity[o * dims + d]!;
        if (amount <= 0) continue;
        const each = (price[o]! / amount) * this.unit[d]!;
        for (const set of supply.sets[supply.of[o]!]!) {
          if (each < rate[set * dims + d]!) rate[set * dims + d] = each;
        }
      }
    }
    return rate;
  }

  private leastPrice(cap: number): number {
    const { offers, price } = this.compiled;
    for (let o = 0; o < offers; o++) if (this.reach[cap * offers + o] === 1) return price[o]!;
    return 1e9;
  }

  solve(): FeasibleWorth {
    const { simplex } = this;
    const rounds = 100 + 4 * simplex.duals.length;
    for (let round = 0; round < rounds; round++) {
      let moved = this.enterOffers();
      moved = this.enterTransfers() || moved;
      while (simplex.enterSurplus()) moved = true;
      if (!moved) break;
    }
    const { dims, capMax } = this.compiled;
    const { duals } = simplex;
    return {
      resource: Float64Array.from(this.setRow, (row, k) =>
        row < 0 ? 0 : Math.max(0, duals[row]! / this.unit[k % dims]!),
      ),
      cap: Float64Array.from(this.capRow, (row, cap) => (row < 0 ? 0 : Math.max(0, duals[row]! / capMax[cap]!))),
    };
  }

  /** Finds, for each supply, the sets to which its resources are worth most. */
  private rateSupplies(): void {
    const { supply, setRow, bestRow, bestRate, unit, simplex } = this;
    const { dims } = this.compiled;
    const { duals } = simplex;
    bestRow.fill(-1);
    bestRate.fill(0);
    for (let k = 0; k < supply.count; k++) {
      for (const set of supply.sets[k]!) {
        for (let d = 0; d < dims; d++) {
          const row = setRow[set * dims + d]!;
          if (row < 0 || duals[row]! / unit[d]! <= bestRate[k * dims + d]!) continue;
          bestRow[k * dims + d] = row;
          bestRate[k * dims + d] = duals[row]! / unit[d]!;
        }
      }
    }
  }

  /** Enters the best column of each supply. */
  private enterOffers(): boolean {
    const { compiled, supply, simplex, capRow, reach, bestRow, bestRate, unit, index, values } = this;
    const { dims, offers, capacity, price } = compiled;
    this.rateSupplies();
    const best = new Int32Array(supply.count).fill(-1);
    const highest = new Float64Array(supply.count).fill(1 + 1e-7);
    const { duals } = simplex;
    const valued = Array.from(capRow.keys()).filter((cap) => capRow[cap]! >= 0 && duals[capRow[cap]!] !== 0);
    for (let o = 0; o < offers; o++) {
      const k = supply.of[o]!;
      let worth = 0;
      for (let d = 0; d < dims; d++) worth += bestRate[k * dims + d]! * capacity[o * dims + d]!;
      for (let c = 0; c < valued.length; c++) {
        if (reach[valued[c]! * offers + o] === 1) worth += duals[capRow[valued[c]!]!]!;
      }
      if (worth > highest[k]! * price[o]!) {
        highest[k] = worth / price[o]!;
        best[k] = o;
      }
    }
    let moved = false;
    for (const o of best) {
      if (o < 0) continue;
      index.length = values.length = 0;
      for (let d = 0; d < dims; d++) {
        const row = bestRow[supply.of[o]! * dims + d]!;
        if (row < 0) continue;
        index.push(row);
        values.push(capacity[o * dims + d]! / unit[d]!);
      }
      for (let cap = 0; cap < capRow.length; cap++) {
        if (capRow[cap]! < 0 || reach[cap * offers + o] === 0) continue;
        index.push(capRow[cap]!);
        values.push(1);
      }
      moved = simplex.enter(index, values, price[o]!, o) || moved;
    }
    return moved;
  }

  /**
   * Numbers rows from `first` for the total free amounts of open bins with one admission, and adds their transfers to
   * `pairs`.
   */
  private openSupplies(first: number, pairs: number[]): [row: number, amount: number][] {
    const { dims, sets, openSets, openSetOf, openFree, items, setOf, shapeOf, pods } = this.compiled;
    const rows: [number, number][] = [];
    openSets.forEach((admitted, k) => {
      const served = new Uint8Array(sets);
      for (let i = 0; i < items; i++) if (admitted[i] === 1 && pods[i]! > 0) served[setOf[shapeOf[i]!]!] = 1;
      for (let d = 0; d < dims; d++) {
        const row = first + k * dims + d;
        let amount = 0;
        openFree.forEach((free, b) => {
          if (free !== undefined && openSetOf[b] === k) amount += Math.max(0, free[d]!);
        });
        rows.push([row, amount / this.unit[d]!]);
        for (let set = 0; set < sets; set++) {
          if (served[set] === 1 && this.setRow[set * dims + d]! >= 0) pairs.push(row, this.setRow[set * dims + d]!);
        }
      }
    });
    return rows;
  }

  /** Enters columns that transfer the free amount of a resource in open bins to a set. */
  private enterTransfers(): boolean {
    const { simplex, index, values, transfers } = this;
    const { duals } = simplex;
    let moved = false;
    index.length = values.length = 2;
    values[0] = -1;
    values[1] = 1;
    for (let t = 0; t < transfers.length; t += 2) {
      const from = transfers[t]!;
      const to = transfers[t + 1]!;
      if (duals[from]! >= duals[to]! - 1e-9) continue;
      index[0] = from;
      index[1] = to;
      moved = simplex.enter(index, values, 0, this.compiled.offers) || moved;
    }
    return moved;
  }
}

import { relax } from '../bins/relaxation.js';
import { compileProblem as compileBins, type CompiledProblem } from '../bins/compile.js';
import type { BinProblem } from '../bins/problem.js';
import { leastBins } from '../bins/surcharge.js';
import type { Compiled } from '../compile/compiled.js';
import type { Profile } from '../compile/universe.js';
import { numberProblem } from '../place/bin-problem.js';
import type { Feasibility } from '../place/feasibility.js';
import type { Part } from '../place/part.js';

/** Prices of resources if bought anew, dollars per hour and unit. */
export class Worth {
  private constructor(
    private readonly prices: Float64Array,
    /** Lower bound of the number of nodes for all pods that may have to move. */
    readonly leastNodes: number,
  ) {}

  /** From the linear relaxation of buying new nodes for every pod that may have to move. */
  static of(compiled: Compiled, feasibility: Feasibility, full: ReadonlySet<Profile>): Worth {
    const parts: Part[] = [];
    for (const podClass of compiled.queue) {
      const level = compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
      const holding = feasibility.holding(podClass, level, full);
      if (compiled.invalid.has(podClass) || holding.length === 0) continue;
      parts.push({
        members: [{ podClass, level, pods: podClass.pods }],
        together: false,
        profiles: feasibility.heaviest(holding),
        pinnedKeys: [],
        demand: feasibility.demand(podClass),
        count: podClass.pods.length,
      });
    }
    const dims = compiled.dimensions.count;
    if (parts.length === 0) return new Worth(new Float64Array(dims), 0);
    const { problem } = numberProblem(compiled, parts, { caps: [], conflicts: [] }, []);
    const bins = compileBins(problem);
    return new Worth(pricesOf(problem, bins, dims), leastBins(bins));
  }

  /** The price of some amounts. */
  of(amounts: Float64Array): number {
    let total = 0;
    for (let d = 0; d < this.prices.length; d++) total += this.prices[d]! * Math.max(0, amounts[d]!);
    return total;
  }

  /**
   * How different the proportions of two amounts are, weighted by price: 0 if one is a multiple of the other, up to 2
   * if they have no resource in common or one has price 0.
   */
  dissimilarity(a: Float64Array, b: Float64Array): number {
    const wholeA = this.of(a);
    const wholeB = this.of(b);
    if (wholeA <= 0 || wholeB <= 0) return 2;
    let sum = 0;
    for (let d = 0; d < this.prices.length; d++) {
      sum += this.prices[d]! * Math.abs(Math.max(0, a[d]!) / wholeA - Math.max(0, b[d]!) / wholeB);
    }
    return sum;
  }
}

/** The mean over the demand, since each set of offers has separate prices. */
function pricesOf(problem: BinProblem, bins: CompiledProblem, dims: number): Float64Array {
  const { proven } = relax(bins);
  const wanted = new Float64Array(dims);
  const paid = new Float64Array(dims);
  const { demand, pods: counts } = problem.items;
  const kept: number[] = [];
  for (let d = 0; d < dims; d++) if (demand.some((amount, i) => i % dims === d && amount > 0)) kept.push(d);
  for (let item = 0; item < bins.items; item++) {
    const set = bins.setOf[bins.shapeOf[item]!]!;
    for (const origin of bins.members[item]!) {
      kept.forEach((d, k) => {
        const amount = demand[origin * dims + d]! * counts[origin]!;
        wanted[d] = wanted[d]! + amount;
        paid[d] = paid[d]! + amount * proven.resource[set * bins.dims + k]!;
      });
    }
  }
  return paid.map((sum, d) => (wanted[d]! > 0 ? sum / wanted[d]! : 0));
}

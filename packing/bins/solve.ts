import type { Compiled } from './compile.js';
import { compile } from './compile.js';
import { Builder } from './greedy.js';
import { LimitLedger } from './limits.js';
import { fillOpenBins } from './open-bins.js';
import type { Stack } from './plan.js';
import { expand } from './plan.js';
import type { BinProblem, BinSolution, Effort } from './problem.js';
import { resourcePrices } from './resource-prices.js';

/**
 * Packs every pod that something can hold, at the least price the effort finds. Open bins are filled first. Amounts must be
 * whole numbers for fits to be exact. Equal inputs give equal results; the order of offers and items changes only ties.
 */
export function solveBins(problem: BinProblem, effort: Effort): BinSolution {
  const compiled = compile(problem);
  void effort;
  const left = Int32Array.from(compiled.pods);
  const prices = resourcePrices(compiled, left);
  const builder = new Builder(compiled, prices, new LimitLedger(compiled), compiled.price);
  const { filled } = fillOpenBins(problem, compiled, builder.filler, prices, left);
  const stacks: Stack[] = [];
  const all = placeable(compiled);
  builder.construct(all, left, stacks);
  return expand(problem, compiled, { stacks, filled, left });
}

/** Items that some offer holds and no cap forbids outright. */
function placeable(compiled: Compiled): Int32Array {
  const { dims, demand, capacity, shapeOf, setOf, capsOf, capMax } = compiled;
  const shapeFits = new Int8Array(compiled.shapes);
  for (let s = 0; s < compiled.shapes; s++) {
    const fits = compiled.offersOfSet[setOf[s]!]!.some((o) => {
      for (let d = 0; d < dims; d++) if (demand[s * dims + d]! > capacity[o * dims + d]!) return false;
      return true;
    });
    shapeFits[s] = fits ? 1 : 0;
  }
  const list: number[] = [];
  for (let i = 0; i < compiled.items; i++) {
    if (shapeFits[shapeOf[i]!] === 1 && capsOf[i]!.every((cap) => capMax[cap]! > 0)) list.push(i);
  }
  return Int32Array.from(list);
}

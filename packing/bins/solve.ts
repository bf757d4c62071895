import { compile } from './compile.js';
import { Builder } from './builder.js';
import { LimitLedger } from './limits.js';
import { LocalSearch } from './local-search.js';
import { Market } from './market.js';
import { fillOpenBins } from './open-bins.js';
import type { Stack } from './plan.js';
import { expand } from './plan.js';
import type { BinProblem, BinSolution, Effort } from './problem.js';
import { placeable } from './placeable.js';
import { capReach, demandsOf, resourceWorth, supplies } from './resource-lp.js';

/**
 * Packs every pod that something can hold, at the least price the effort finds. Open bins are filled first. Amounts must be
 * whole numbers for fits to be exact. Equal inputs give equal results; the order of offers and items changes only ties.
 */
export function solveBins(problem: BinProblem, effort: Effort): BinSolution {
  const compiled = compile(problem);
  const left = Int32Array.from(compiled.pods);
  const all = placeable(compiled);
  const prices = resourceWorth(
    compiled,
    demandsOf(compiled, left, all),
    supplies(compiled),
    capReach(compiled),
  ).resource;
  const builder = new Builder(new Market(compiled, prices, new LimitLedger(compiled), compiled.price));
  const { filled } = fillOpenBins(problem, compiled, builder, left);
  const stacks: Stack[] = [];
  builder.construct(all, left, stacks);
  new LocalSearch(builder, stacks).run(effort.units);
  return expand(problem, compiled, { stacks, filled, left });
}

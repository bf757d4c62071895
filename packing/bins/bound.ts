import type { BinProblem, Effort } from './problem.js';
import { solveWithBound } from './solve.js';

/**
 * No packing of the pods that some offer holds costs less, dollars per hour; limits are left out. A packing is made on the way,
 * because nothing dearer than a known packing need be looked at: who wants both calls `solveWithBound`.
 */
export function lowerBound(problem: BinProblem, effort: Effort): number {
  return solveWithBound(problem, effort).lowerBound;
}

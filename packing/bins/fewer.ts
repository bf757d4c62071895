import type { Compiled } from './compile.js';
import { joinWithin } from './join.js';
import { LimitLedger } from './limits.js';
import { binsIn, type Packing } from './plan.js';
import type { BinProblem } from './problem.js';

/** A packing of a problem whose offers were made dearer by `binCost`, dollars per hour. */
export interface Candidate {
  readonly compiled: Compiled;
  readonly packing: Packing;
  readonly binCost: number;
}

/** Of packings whose price is within this share of the cheapest one the one with fewest bins is taken. */
export const nearlyCheapest = 1.01;

/** What a bin costs besides, as shares of the mean price of a bin in the cheapest packing. */
export const binCosts = [0.02, 0.06] as const;

/** The problem with every bin dearer by `binCost`. */
export const withBinCost = (problem: BinProblem, binCost: number): BinProblem => ({
  ...problem,
  offers: { ...problem.offers, price: problem.offers.price.map((price) => price + binCost) },
});

/** What the bins of a candidate really cost. */
export function truePriceOf({ compiled, packing, binCost }: Candidate): number {
  let price = 0;
  for (const { offer, times } of packing.stacks) price += times * (compiled.price[offer]! - binCost);
  return price;
}

/** Of the candidates, each with bins joined as far as prices within the margin let it, the one with fewest bins. */
export function fewest(candidates: readonly Candidate[]): Candidate {
  const cheapest = Math.min(...candidates.map(truePriceOf));
  const most = cheapest * nearlyCheapest;
  const near = candidates.filter((each) => truePriceOf(each) <= most).map((each) => joined(each, most));
  return near.reduce((best, each) => (isBetter(each, best) ? each : best));
}

function isBetter(a: Candidate, b: Candidate): boolean {
  const fewer = binsIn(a.packing.stacks) - binsIn(b.packing.stacks);
  return fewer < 0 || (fewer === 0 && truePriceOf(a) < truePriceOf(b) - 1e-9);
}

function joined(candidate: Candidate, most: number): Candidate {
  const { compiled, packing, binCost } = candidate;
  const stacks = packing.stacks.map((each) => ({ ...each }));
  const ledger = new LimitLedger(compiled);
  for (const { offer, times } of stacks) ledger.use(offer, times);
  joinWithin(compiled, stacks, ledger, { spare: most - truePriceOf(candidate), binCost });
  return { ...candidate, packing: { ...packing, stacks } };
}

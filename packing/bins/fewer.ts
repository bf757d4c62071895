import type { CompiledProblem } from './compile.js';
import { joinWithin } from './join.js';
import { LimitLedger } from './limits.js';
import { binsIn, priceOf, type Stack } from './plan.js';

/** Of packings whose price is within this share of the cheapest one the one with fewest bins is taken. */
export const nearlyCheapest = 1.01;

/**
 * What a bin costs besides where fewer are searched for, as shares of the mean price of a bin of the cheapest packing. Each leads to another
 * packing: now and then a cheaper one.
 */
const binCostShares = [0.32, 0.08, 0.04, 0.02];

/** More bins than this many times those that the pods must have are worth another packing. */
const nearlyFewest = 1.1;

interface Found {
  readonly compiled: CompiledProblem;
  readonly stacks: readonly Stack[];
  /** How many times the price of `stacks` fewer bins may cost. */
  readonly upTo: number;
}

/**
 * A packing with fewer bins for at most the margin: bins are joined; where many more are left than there must be, so are those of other
 * packings, which `pack` makes of the same problem with bins that each cost a little more than they do: undefined where it leaves out more.
 */
export function withFewerBins(
  { compiled, stacks, upTo }: Found,
  pack: (dearer: CompiledProblem) => readonly Stack[] | undefined,
): readonly Stack[] {
  const price = priceOf(compiled, stacks);
  const joined = joinedWithin({ compiled, stacks }, price * upTo);
  if (binsIn(joined) <= leastBins(compiled) * nearlyFewest) return joined;
  const mean = price / binsIn(stacks);
  const others = binCostShares.map((share) => pack(withBinCost(compiled, mean * share)));
  const found = [stacks, ...others.filter((other) => other !== undefined)];
  const most = upTo * Math.min(...found.map((each) => priceOf(compiled, each)));
  return found
    .filter((each) => priceOf(compiled, each) <= most)
    .map((each) => joinedWithin({ compiled, stacks: each }, most))
    .reduce((best, each) => (isBetter(compiled, each, best) ? each : best));
}

/** `binCost` in dollars per hour. */
const withBinCost = (compiled: CompiledProblem, binCost: number): CompiledProblem => ({
  ...compiled,
  price: compiled.price.map((each) => each + binCost),
});

/** So many bins the pods need at least, by what the largest hold and by what caps let into one. */
function leastBins({ dims, offers, capacity, shapeOf, demand, pods, items, capsOf, capMax }: CompiledProblem): number {
  const largest = new Float64Array(dims);
  for (let at = 0; at < offers * dims; at++) largest[at % dims] = Math.max(largest[at % dims]!, capacity[at]!);
  const total = new Float64Array(dims);
  const capped = new Float64Array(capMax.length);
  for (let item = 0; item < items; item++) {
    for (let d = 0; d < dims; d++) total[d] = total[d]! + pods[item]! * demand[shapeOf[item]! * dims + d]!;
    for (const cap of capsOf[item]!) capped[cap] = capped[cap]! + pods[item]!;
  }
  const byRoom = Array.from(total, (amount, d) => (amount > 0 ? Math.ceil(amount / largest[d]!) : 0));
  return Math.max(1, ...byRoom, ...Array.from(capped, (count, cap) => Math.ceil(count / capMax[cap]!)));
}

function joinedWithin({ compiled, stacks }: Omit<Found, 'upTo'>, most: number): Stack[] {
  const made = stacks.map((each) => ({ ...each }));
  const ledger = new LimitLedger(compiled);
  for (const { offer, times } of stacks) ledger.use(offer, times);
  joinWithin(compiled, made, ledger, most - priceOf(compiled, made));
  return made;
}

function isBetter(compiled: CompiledProblem, a: readonly Stack[], b: readonly Stack[]): boolean {
  const fewer = binsIn(a) - binsIn(b);
  return fewer < 0 || (fewer === 0 && priceOf(compiled, a) < priceOf(compiled, b) - 1e-9);
}

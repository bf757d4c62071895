import type { CompiledProblem } from './compile.js';
import { joinWithin } from './join.js';
import { LimitUsage } from './limits.js';
import { binsIn, priceOf, type BinGroup } from './plan.js';

/** Among packings whose price is at most this many times the cheapest one's, the one with the fewest bins is taken. */
export const nearlyCheapest = 1.01;

/**
 * Extra cost of a bin when packings with fewer bins are searched for, as shares of the mean price of a bin in the cheapest packing.
 */
const binCostShares = [0.32, 0.08, 0.04, 0.02];

/** If a packing has more than this many times the least possible number of bins, others are searched for. */
const nearlyFewest = 1.1;

interface Found {
  readonly compiled: CompiledProblem;
  readonly groups: readonly BinGroup[];
  /** How many times the price of `groups` fewer bins may cost. */
  readonly upTo: number;
}

/** Solves the problem again; undefined if that leaves more pods unplaced, or is not worth it. */
interface Again {
  readonly pack: (dearer: CompiledProblem) => readonly BinGroup[] | undefined;
  /** By contents of whole bins, with an extra cost for each bin. */
  readonly byWholeBins: () => readonly BinGroup[] | undefined;
}

/**
 * A packing with fewer bins that costs at most `upTo` times as much: bins are joined. If that leaves many more bins than the least
 * possible number, the problem is solved again with extra costs for each bin, and the bins of those packings are joined as well.
 */
export function withFewerBins({ compiled, groups, upTo }: Found, again: Again): readonly BinGroup[] {
  const price = priceOf(compiled, groups);
  const joined = joinedWithin({ compiled, groups }, price * upTo);
  if (binsIn(joined) <= leastBins(compiled) * nearlyFewest) return joined;
  const mean = price / binsIn(groups);
  const others = [
    again.byWholeBins(),
    ...binCostShares.map((share) => again.pack(withBinCost(compiled, mean * share))),
  ];
  const found = [groups, ...others.filter((other) => other !== undefined)];
  const most = upTo * Math.min(...found.map((each) => priceOf(compiled, each)));
  return found
    .filter((each) => priceOf(compiled, each) <= most)
    .map((each) => joinedWithin({ compiled, groups: each }, most))
    .reduce((best, each) => (isBetter(compiled, each, best) ? each : best));
}

/** `binCost` in dollars per hour. */
const withBinCost = (compiled: CompiledProblem, binCost: number): CompiledProblem => ({
  ...compiled,
  price: compiled.price.map((each) => each + binCost),
});

/** The least number of bins, by the capacity of the largest ones and by caps. */
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

function joinedWithin({ compiled, groups }: Omit<Found, 'upTo'>, most: number): BinGroup[] {
  const made = groups.map((each) => ({ ...each }));
  const limitUsage = new LimitUsage(compiled);
  for (const { offer, times } of groups) limitUsage.use(offer, times);
  joinWithin(compiled, made, limitUsage, most - priceOf(compiled, made));
  return made;
}

function isBetter(compiled: CompiledProblem, a: readonly BinGroup[], b: readonly BinGroup[]): boolean {
  const fewer = binsIn(a) - binsIn(b);
  return fewer < 0 || (fewer === 0 && priceOf(compiled, a) < priceOf(compiled, b) - 1e-9);
}

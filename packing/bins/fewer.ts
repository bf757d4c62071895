import type { CompiledProblem } from './compile.js';
import { joinWithin } from './join.js';
import { LimitLedger } from './limits.js';
import { binsIn, priceOf, type Stack } from './plan.js';

/** Of packings whose price is within this share of the cheapest one the one with fewest bins is taken. */
export const nearlyCheapest = 1.01;

/** What a bin costs besides where fewer are searched for, as a share of the mean price of a bin of the cheapest packing. */
const binCostShare = 0.02;

/** More bins than this many times those that the pods must have are worth another packing. */
const nearlyFewest = 1.1;

interface Found {
  readonly compiled: CompiledProblem;
  readonly stacks: readonly Stack[];
  /** How many times the price of `stacks` fewer bins may cost. */
  readonly upTo: number;
}

/**
 * A packing with fewer bins for at most the margin: bins are joined; where many more are left than there must be, so are those of another
 * packing, which `pack` makes of the same problem with bins that each cost a little more than they do.
 */
export function withFewerBins(
  { compiled, stacks, upTo }: Found,
  pack: (dearer: CompiledProblem) => readonly Stack[],
): readonly Stack[] {
  const bins = binsIn(stacks);
  const price = priceOf(compiled, stacks);
  const most = price * upTo;
  const joined = joinedWithin({ compiled, stacks }, most);
  if (binsIn(joined) <= leastBins(compiled) * nearlyFewest) return joined;
  const binCost = (price / bins) * binCostShare;
  const other = pack({ ...compiled, price: compiled.price.map((each) => each + binCost) });
  if (priceOf(compiled, other) > most) return joined;
  const joinedOther = joinedWithin({ compiled, stacks: other }, most);
  return isBetter(compiled, joinedOther, joined) ? joinedOther : joined;
}

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

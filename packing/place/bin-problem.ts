import type { Compiled } from '../compiled.js';
import type { BinProblem, Limit, OpenBin } from '../bins/problem.js';
import type { Profile } from '../compile/universe.js';
import type { Exclusions } from './exclusions.js';
import type { Part } from './part.js';
import { typeUse, type PoolLimit } from './pool-limit.js';

export type { PoolLimit } from './pool-limit.js';

export interface NumberedProblem {
  readonly problem: BinProblem;
  /** By offer: the row of the universe. */
  readonly rowOfOffer: readonly number[];
  /** Dollars per hour that every offer counts as more than it costs. */
  readonly perNode: number;
}

/** Reduces parts to numbers: a part is an item, a row worth buying is an offer. */
export function numberProblem(
  compiled: Compiled,
  parts: readonly Part[],
  { caps, conflicts }: Exclusions,
  limits: readonly PoolLimit[],
): NumberedProblem {
  const dims = compiled.dimensions.count;
  const offerRange = new Map<Profile, { from: number; to: number }>();
  const rowOfOffer: number[] = [];
  const capacities: Float64Array[] = [];
  const used = new Set(parts.flatMap(({ profiles }) => profiles));
  for (const profile of [...used].sort((a, b) => a.index - b.index)) {
    const { rows, capacity } = compiled.offers.of(profile);
    offerRange.set(profile, { from: rowOfOffer.length, to: rowOfOffer.length + rows.length });
    for (const row of rows) rowOfOffer.push(row);
    capacities.push(capacity);
  }
  const capacity = new Float64Array(rowOfOffer.length * dims);
  let at = 0;
  for (const vector of capacities) {
    capacity.set(vector, at);
    at += vector.length;
  }
  const sets = new Map<readonly Profile[], Uint32Array>();
  const demand = new Float64Array(parts.length * dims);
  const pods = new Int32Array(parts.length);
  const allowed = parts.map((part, i) => {
    demand.set(part.demand, i * dims);
    pods[i] = part.count;
    let bits = sets.get(part.profiles);
    if (bits === undefined) sets.set(part.profiles, (bits = bitsOf(part.profiles, offerRange, rowOfOffer.length)));
    return bits;
  });
  const price = Float64Array.from(rowOfOffer, (row) => compiled.universe.rows[row]!.offering.price);
  const perNode = nodePremium(price);
  for (let offer = 0; offer < price.length; offer++) price[offer] = price[offer]! + perNode;
  const problem: BinProblem = {
    dimensions: dims,
    offers: {
      count: rowOfOffer.length,
      price,
      capacity,
    },
    items: { count: parts.length, pods, demand, allowed },
    caps,
    conflicts,
    limits: limits.map((limit) => limitOf(compiled, rowOfOffer, limit)),
    openBins: [] as readonly OpenBin[],
  };
  return { problem, rowOfOffer, perNode };
}

/** What each node counts as more than its price, so that of plans at one price the one with fewer nodes wins. */
function nodePremium(price: Float64Array): number {
  let least = Infinity;
  for (const each of price) if (each > 0 && each < least) least = each;
  return least === Infinity ? premium : least * premium;
}

const premium = 1e-9;

function bitsOf(
  profiles: readonly Profile[],
  ranges: ReadonlyMap<Profile, { from: number; to: number }>,
  count: number,
): Uint32Array {
  const bits = new Uint32Array((count + 31) >>> 5);
  for (const profile of profiles) {
    const { from, to } = ranges.get(profile)!;
    for (let offer = from; offer < to; offer++) bits[offer >>> 5]! |= 1 << (offer & 31);
  }
  return bits;
}

/** What one node of a row uses of a limit. */
export function limitUse(compiled: Compiled, row: number, limit: PoolLimit): number {
  const { type, profile } = compiled.universe.rows[row]!;
  if (limit.reservation !== undefined) return profile.reservation === limit.reservation ? 1 : 0;
  return profile.pool.name === limit.pool ? typeUse(limit, type) : 0;
}

function limitOf(compiled: Compiled, rowOfOffer: readonly number[], limit: PoolLimit): Limit {
  return { use: Float64Array.from(rowOfOffer, (row) => limitUse(compiled, row, limit)), remaining: limit.remaining };
}

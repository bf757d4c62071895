import type { Compiled } from '../compile/compiled.js';
import type { BinProblem, Limit } from '../bins/problem.js';
import type { Profile } from '../compile/universe.js';
import type { Exclusions } from './exclusions.js';
import type { Part } from './part.js';
import { offerTable, type OfferTable } from './offer-table.js';
import { minValuesRulesOf } from '../compile/min-values.js';
import { rowUse, type PoolLimit } from '../compile/pool-limits.js';
import { rulingPolicy } from '../compile/node-costs.js';

interface NumberedProblem {
  readonly problem: BinProblem;
  /** By offer: its row in the universe. */
  readonly rowOfOffer: readonly number[];
  /** Premium on the price of each offer, dollars per hour (see offer-table.ts). */
  readonly perNode: number;
}

interface NumberingOptions {
  /** Dollars per hour. */
  readonly dearest?: number;
  /** Whether pods may ride on nodes that are launched for others. */
  readonly riding?: boolean;
}

/**
 * Turns parts into a bin packing problem: a part becomes an item, a row of at most `dearest` dollars per hour an offer.
 */
export function numberProblem(
  compiled: Compiled,
  parts: readonly Part[],
  { caps, conflicts }: Exclusions,
  limits: readonly PoolLimit[],
  { dearest = Infinity, riding = false }: NumberingOptions = {},
): NumberedProblem {
  const dims = compiled.dimensions.count;
  const { rowOfOffer, range, offers, perNode } = offerTable(compiled, profilesOf(parts));
  const sets = new Map<readonly Profile[], Uint32Array>();
  const demand = new Float64Array(parts.length * dims);
  const pods = new Int32Array(parts.length);
  const allowed = parts.map((part, i) => {
    demand.set(part.demand, i * dims);
    pods[i] = part.count;
    let bits = sets.get(part.profiles);
    if (bits === undefined) {
      sets.set(part.profiles, (bits = bitsOf(part.profiles, range, offers, dearest)));
    }
    return bits;
  });
  const rides = riding
    ? ridingOf(compiled, parts, allowed, (list) =>
        bitsOf(
          list.filter((profile) => range.has(profile)),
          range,
          offers,
          dearest,
        ),
      )
    : undefined;
  const problem: BinProblem = {
    dimensions: dims,
    offers,
    items: { count: parts.length, pods, demand, allowed, ...(rides !== undefined && { riding: rides }) },
    caps,
    conflicts,
    limits: limits.map((limit) => limitOf(compiled, rowOfOffer, limit)),
  };
  return { problem, rowOfOffer, perNode };
}

/**
 * By part: the offers that may hold its pods, including those of lighter NodePools; undefined if these are only the
 * allowed ones. Pods do not ride in a NodePool with minValues or a spot ratio: what its claim lists, and costs, depends
 * on all its pods.
 */
function ridingOf(
  { input: { objects } }: Compiled,
  parts: readonly Part[],
  allowed: readonly Uint32Array[],
  bitsFor: (profiles: readonly Profile[]) => Uint32Array,
): Uint32Array[] | undefined {
  const known = new Map<readonly Profile[], Uint32Array>();
  const riding = parts.map(({ profiles, riding: all }, i) => {
    if (all === undefined) return allowed[i]!;
    let bits = known.get(all);
    if (bits === undefined) {
      const { weight } = profiles[0]!.pool;
      const isRidable = ({ pool }: Profile): boolean =>
        pool.weight === weight ||
        (minValuesRulesOf(pool.requirements).length === 0 &&
          rulingPolicy(pool.object, objects.disruptionPolicies)?.spec.spotRatio === undefined);
      known.set(all, (bits = bitsFor(all.filter(isRidable))));
    }
    return bits;
  });
  const isMore = riding.some((bits, i) => bits !== allowed[i] && bits.some((word, k) => word !== allowed[i]![k]));
  return isMore ? riding : undefined;
}

/** All profiles that the parts may use, by index. Most parts share their lists. */
function profilesOf(parts: readonly Part[]): Profile[] {
  const lists = new Set<readonly Profile[]>();
  for (const { profiles } of parts) lists.add(profiles);
  const used = new Set<Profile>();
  for (const list of lists) for (const profile of list) used.add(profile);
  return [...used].sort((a, b) => a.index - b.index);
}

function bitsOf(
  profiles: readonly Profile[],
  ranges: OfferTable['range'],
  { count, price }: OfferTable['offers'],
  dearest: number,
): Uint32Array {
  const bits = new Uint32Array((count + 31) >>> 5);
  for (const profile of profiles) {
    const { from, to } = ranges.get(profile)!;
    for (let offer = from; offer < to; offer++) {
      if (price[offer]! <= dearest) bits[offer >>> 5]! |= 1 << (offer & 31);
    }
  }
  return bits;
}

/** How much of a limit one node of a row uses. */
export function limitUse(compiled: Compiled, row: number, limit: PoolLimit): number {
  return rowUse(compiled.universe.rows[row]!, limit);
}

function limitOf(compiled: Compiled, rowOfOffer: readonly number[], limit: PoolLimit): Limit {
  return { use: Float64Array.from(rowOfOffer, (row) => limitUse(compiled, row, limit)), remaining: limit.remaining };
}

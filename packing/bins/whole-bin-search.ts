import { Builder } from './builder.js';
import type { CompiledProblem } from './compile.js';
import { joinBins } from './join.js';
import { Knapsack } from './knapsack.js';
import { LimitUsage } from './limits.js';
import { LocalSearch } from './local-search.js';
import { PatternSearch } from './patterns.js';
import type { BinGroup } from './plan.js';
import type { FeasibleWorth } from './resource-lp.js';
import { Valuation } from './valuation.js';
import { ValueCorrection } from './value-correction.js';

/** The share of the visits for packings that are built bin by bin, before those by patterns. */
const builtShare = 0.4;
/** The share of the units for local search, at the end. */
const localShare = 0.25;
/** A packing this near to its target is not worth solving a linear program. */
const nearlyThere = 1.01;

export interface FirstPacking {
  readonly groups: readonly BinGroup[];
  /** Items that it packs, and how many pods. */
  readonly items: Int32Array;
  readonly pods: Int32Array;
  readonly worth: FeasibleWorth;
}

interface WholeBinEffort {
  readonly units: number;
  readonly visits: number;
  /** A packing of at most this price is not searched further. */
  readonly target: number;
}

/**
 * Another packing of the same pods, by contents of whole bins: they take caps into account, and waste less of bins, than bins built for the resources that
 * they use. Undefined where limits do not allow it.
 */
export function searchWholeBins(
  compiled: CompiledProblem,
  { groups, items, pods, worth }: FirstPacking,
  { units, visits, target }: WholeBinEffort,
): BinGroup[] | undefined {
  const knapsack = new Knapsack(compiled, items, worth.resource);
  const corrected = new ValueCorrection(compiled, items, pods, knapsack, { groups, worth });
  corrected.run(visits * builtShare, target);
  let found = corrected.best.map((group) => ({ ...group }));
  if (corrected.price > target * nearlyThere) {
    const patterns = new PatternSearch(compiled, items, worth.resource, {
      knapsack,
      groups: found,
      tried: corrected.tried,
    });
    patterns.run(visits, target);
    found = patterns.groups;
  }
  const limitUsage = new LimitUsage(compiled);
  for (const { offer, times } of found) {
    if (limitUsage.most(offer) < times) return undefined;
    limitUsage.use(offer, times);
  }
  const builder = new Builder(new Valuation(compiled, worth.resource, limitUsage));
  new LocalSearch(builder, found).run(units * localShare, target);
  joinBins(compiled, found, limitUsage);
  return found;
}

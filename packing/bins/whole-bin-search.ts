import type { CompiledProblem } from './compile.js';
import { joinBins } from './join.js';
import { Knapsack } from './knapsack.js';
import { LimitUsage } from './limits.js';
import { PatternSearch } from './patterns.js';
import type { BinGroup } from './plan.js';
import type { FeasibleWorth } from './resource-lp.js';
import { ValueCorrection } from './value-correction.js';

/** Items and columns visited for each unit of effort. */
export const visitsPerUnit = 10;
/** Share of the visits for packings that are built bin by bin, before those by patterns. */
const builtShare = 0.4;
/** For a packing within this ratio of its target no linear program is solved. */
const nearlyThere = 1.01;

interface FirstPacking {
  readonly groups: readonly BinGroup[];
  /** The items to pack, and the number of pods. */
  readonly items: Int32Array;
  readonly pods: Int32Array;
  readonly worth: FeasibleWorth;
}

interface WholeBinEffort {
  readonly visits: number;
  /** A packing of at most this price is not searched further. */
  readonly target: number;
}

/**
 * Another packing of the same pods, by contents of whole bins. It takes caps into account and wastes less of each bin
 * than packings built by resource worth. Undefined if limits do not allow it.
 */
export function searchWholeBins(
  compiled: CompiledProblem,
  { groups, items, pods, worth }: FirstPacking,
  { visits, target }: WholeBinEffort,
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
  joinBins(compiled, found, limitUsage);
  return found;
}

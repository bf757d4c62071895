import type { CompiledProblem } from './compile.js';
import type { Builder } from './builder.js';
import type { BinGroup } from './plan.js';
import type { BinProblem } from './problem.js';

/** Sets belong to one tier if the worth of their mean pods differs by less than this share. */
const alike = 0.9;

/**
 * Fills the open bins in order, and removes the placed pods from `left`. Pods that no offer holds (not in `placeable`)
 * come first, then pods by the cost of new bins for them, the most expensive first.
 */
export function fillOpenBins(
  problem: BinProblem,
  compiled: CompiledProblem,
  builder: Builder,
  placeable: Int32Array,
  left: Int32Array,
): (BinGroup | undefined)[] {
  const { dims, kinds, shapes, setOf, demand } = compiled;
  const { filler } = builder;
  const { worth, resourceWorth } = builder.valuation;
  const filled: (BinGroup | undefined)[] = compiled.openFree.map(() => undefined);
  if (filled.length === 0) return filled;
  const importance = new Float64Array(dims).fill(1 / dims);
  for (let s = 0; s < shapes; s++) {
    for (let d = 0; d < dims; d++) {
      const share = resourceWorth[setOf[s]! * dims + d]! * demand[s * dims + d]!;
      importance[d] = importance[d]! + (worth[s]! > 0 ? share / worth[s]! : 0);
    }
  }
  const live = new Int32Array(kinds);
  const tiers = tiersOf(builder);
  const openOnly = heldByOpenBinsAlone(compiled, placeable);
  for (const [b, free] of compiled.openFree.entries()) {
    if (free === undefined) continue;
    const admitted = compiled.openSets[compiled.openSetOf[b]!]!;
    let count = 0;
    for (let k = 0; k < kinds; k++) if (anyLeft(compiled, k, left, admitted)) live[count++] = k;
    if (count === 0) continue;
    filler.begin(free, 0);
    filler.occupy(compiled.openHolds[b]!, problem.openBins[b]!.capUse);
    filler.aim(free, importance);
    const alone = openOnly[compiled.openSetOf[b]!];
    if (alone !== undefined) filler.grow(live, count, { left, sets: undefined, rank: 0, items: alone });
    for (let rank = 1; rank <= tiers.count; rank++) {
      filler.grow(live, count, { left, sets: tiers.of, rank, items: admitted });
    }
    if (filler.size === 0) continue;
    const items = filler.items.slice(0, filler.size);
    const pods = items.map((item) => filler.count[item]!);
    for (let k = 0; k < items.length; k++) left[items[k]!] = left[items[k]!]! - pods[k]!;
    filled[b] = { offer: -1, items, pods, times: 1 };
  }
  return filled;
}

/** Tiers of sets by the worth of their mean pod: 1 is the highest. */
function tiersOf(builder: Builder): { of: Uint8Array; count: number } {
  const { compiled, meanPodWorth } = builder.valuation;
  const of = new Uint8Array(compiled.sets);
  let count = 0;
  let top = Infinity;
  for (const set of Array.from(meanPodWorth.keys()).sort((a, b) => meanPodWorth[b]! - meanPodWorth[a]! || a - b)) {
    if (count === 0 || (meanPodWorth[set]! < alike * top && count < 8)) {
      count++;
      top = meanPodWorth[set]!;
    }
    of[set] = count;
  }
  return { of, count };
}

/** By admission of open bins: the items that only open bins can hold; undefined if there are none. */
function heldByOpenBinsAlone(compiled: CompiledProblem, placeable: Int32Array): (Uint8Array | undefined)[] {
  const housed = new Uint8Array(compiled.items);
  for (const item of placeable) housed[item] = 1;
  return compiled.openSets.map((admitted) => {
    const alone = admitted.map((bit, item) => bit & (housed[item]! ^ 1));
    return alone.some((bit, item) => bit === 1 && compiled.pods[item]! > 0) ? alone : undefined;
  });
}

function anyLeft(compiled: CompiledProblem, kind: number, left: Int32Array, admitted: Uint8Array): boolean {
  const { kindStart, shapeStart } = compiled;
  const end = shapeStart[kindStart[kind + 1]!]!;
  for (let i = shapeStart[kindStart[kind]!]!; i < end; i++) if (left[i]! > 0 && admitted[i] === 1) return true;
  return false;
}

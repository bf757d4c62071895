import type { CompiledProblem } from './compile.js';
import type { Builder } from './builder.js';
import type { Stack } from './plan.js';
import type { BinProblem } from './problem.js';

/** Sets count as equally dear when they differ by less than this share. */
const alike = 0.9;

/**
 * Fills the bins that exist already, in their order; takes what it places out of `left`. Pods that no offer holds (not in
 * `placeable`) come first, then those whose own bins would be dearest: cheap ones can as well be bought for.
 */
export function fillOpenBins(
  problem: BinProblem,
  compiled: CompiledProblem,
  builder: Builder,
  placeable: Int32Array,
  left: Int32Array,
): (Stack | undefined)[] {
  const { dims, kinds, shapes, setOf, demand } = compiled;
  const { filler } = builder;
  const { worth, prices } = builder.market;
  const filled: (Stack | undefined)[] = compiled.openFree.map(() => undefined);
  if (filled.length === 0) return filled;
  const importance = new Float64Array(dims).fill(1 / dims);
  for (let s = 0; s < shapes; s++) {
    for (let d = 0; d < dims; d++) {
      const share = prices[setOf[s]! * dims + d]! * demand[s * dims + d]!;
      importance[d] = importance[d]! + (worth[s]! > 0 ? share / worth[s]! : 0);
    }
  }
  const live = new Int32Array(kinds);
  const tiers = tiersOf(builder);
  const homeless = homelessIn(compiled, placeable);
  for (const [b, free] of compiled.openFree.entries()) {
    if (free === undefined) continue;
    const admitted = compiled.openSets[compiled.openSetOf[b]!]!;
    let count = 0;
    for (let k = 0; k < kinds; k++) if (anyLeft(compiled, k, left, admitted)) live[count++] = k;
    if (count === 0) continue;
    filler.begin(free, 0);
    filler.occupy(compiled.openHolds[b]!, problem.openBins[b]!.capUse);
    filler.aim(free, importance);
    const alone = homeless[compiled.openSetOf[b]!];
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

/** Numbers the sets by how dear their bins are, the dearest 1, those about as dear alike. */
function tiersOf(builder: Builder): { of: Uint8Array; count: number } {
  const { compiled, dearness } = builder.market;
  const of = new Uint8Array(compiled.sets);
  let count = 0;
  let top = Infinity;
  for (const set of Array.from(dearness.keys()).sort((a, b) => dearness[b]! - dearness[a]! || a - b)) {
    if (count === 0 || (dearness[set]! < alike * top && count < 8)) {
      count++;
      top = dearness[set]!;
    }
    of[set] = count;
  }
  return { of, count };
}

/** By admission of open bins, which of its items only open bins can hold; undefined where none. */
function homelessIn(compiled: CompiledProblem, placeable: Int32Array): (Uint8Array | undefined)[] {
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

import type { Compiled } from './compile.js';
import type { Filler } from './filler.js';
import type { Stack } from './plan.js';
import type { BinProblem } from './problem.js';

/** Fills the bins that exist already, in their order; takes what it places out of `left`. */
export function fillOpenBins(
  problem: BinProblem,
  compiled: Compiled,
  filler: Filler,
  prices: Float64Array,
  left: Int32Array,
): { filled: (Stack | undefined)[]; work: number } {
  const { dims, shapes, setOf } = compiled;
  const filled: (Stack | undefined)[] = compiled.openFree.map(() => undefined);
  if (filled.length === 0) return { filled, work: 0 };
  const mean = new Float64Array(dims);
  for (let s = 0; s < shapes; s++) for (let d = 0; d < dims; d++) mean[d] = mean[d]! + prices[setOf[s]! * dims + d]!;
  const live = new Int32Array(shapes);
  let work = 0;
  for (const [b, free] of compiled.openFree.entries()) {
    if (free === undefined) continue;
    const admitted = compiled.openSets[compiled.openSetOf[b]!]!;
    let count = 0;
    for (let s = 0; s < shapes; s++) if (anyLeft(compiled, s, left, admitted)) live[count++] = s;
    if (count === 0) continue;
    filler.begin(free, 0);
    filler.occupy(compiled.openHolds[b]!, problem.openBins[b]!.capUse);
    filler.aim(free, 0, mean, 0);
    work += shapes + filler.grow(live, count, left, admitted);
    if (filler.items.length === 0) continue;
    const items = Int32Array.from(filler.items);
    const pods = Int32Array.from(filler.items, (item) => filler.count[item]!);
    for (let k = 0; k < items.length; k++) left[items[k]!] = left[items[k]!]! - pods[k]!;
    filled[b] = { offer: -1, items, pods, times: 1 };
  }
  return { filled, work };
}

function anyLeft(compiled: Compiled, shape: number, left: Int32Array, admitted: Uint8Array): boolean {
  for (let i = compiled.shapeStart[shape]!; i < compiled.shapeStart[shape + 1]!; i++) {
    if (left[i]! > 0 && admitted[i] === 1) return true;
  }
  return false;
}

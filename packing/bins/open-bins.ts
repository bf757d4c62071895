import type { Compiled } from './compile.js';
import type { Builder } from './builder.js';
import type { Stack } from './plan.js';
import type { BinProblem } from './problem.js';

/** Fills the bins that exist already, in their order; takes what it places out of `left`. */
export function fillOpenBins(
  problem: BinProblem,
  compiled: Compiled,
  builder: Builder,
  left: Int32Array,
): { filled: (Stack | undefined)[]; work: number } {
  const { dims, kinds, shapes, setOf, demand } = compiled;
  const { filler } = builder;
  const { worth, prices } = builder.market;
  const filled: (Stack | undefined)[] = compiled.openFree.map(() => undefined);
  if (filled.length === 0) return { filled, work: 0 };
  const importance = new Float64Array(dims).fill(1 / dims);
  for (let s = 0; s < shapes; s++) {
    for (let d = 0; d < dims; d++) {
      const share = prices[setOf[s]! * dims + d]! * demand[s * dims + d]!;
      importance[d] = importance[d]! + (worth[s]! > 0 ? share / worth[s]! : 0);
    }
  }
  const live = new Int32Array(kinds);
  let work = 0;
  for (const [b, free] of compiled.openFree.entries()) {
    if (free === undefined) continue;
    const admitted = compiled.openSets[compiled.openSetOf[b]!]!;
    let count = 0;
    for (let k = 0; k < kinds; k++) if (anyLeft(compiled, k, left, admitted)) live[count++] = k;
    if (count === 0) continue;
    filler.begin(free, 0);
    filler.occupy(compiled.openHolds[b]!, problem.openBins[b]!.capUse);
    filler.aim(free, importance);
    work += kinds + filler.grow(live, count, { left, sets: undefined, rank: 0, items: admitted });
    if (filler.items.length === 0) continue;
    const items = Int32Array.from(filler.items);
    const pods = Int32Array.from(filler.items, (item) => filler.count[item]!);
    for (let k = 0; k < items.length; k++) left[items[k]!] = left[items[k]!]! - pods[k]!;
    filled[b] = { offer: -1, items, pods, times: 1 };
  }
  return { filled, work };
}

function anyLeft(compiled: Compiled, kind: number, left: Int32Array, admitted: Uint8Array): boolean {
  const { kindStart, shapeStart } = compiled;
  const end = shapeStart[kindStart[kind + 1]!]!;
  for (let i = shapeStart[kindStart[kind]!]!; i < end; i++) if (left[i]! > 0 && admitted[i] === 1) return true;
  return false;
}

import type { CompiledProblem } from './compile.js';

/** Items that some offer holds and no cap excludes, ascending. */
export function placeable(compiled: CompiledProblem): Int32Array {
  const { dims, demand, capacity, shapeOf, setOf, capsOf, capMax } = compiled;
  const shapeFits = new Int8Array(compiled.shapes);
  for (let s = 0; s < compiled.shapes; s++) {
    const offers = compiled.offersOfSet[setOf[s]!]!;
    for (let k = offers.length - 1; k >= 0; k--) {
      let d = 0;
      while (d < dims && demand[s * dims + d]! <= capacity[offers[k]! * dims + d]!) d++;
      if (d < dims) continue;
      shapeFits[s] = 1;
      break;
    }
  }
  const list: number[] = [];
  for (let i = 0; i < compiled.items; i++) {
    if (shapeFits[shapeOf[i]!] === 1 && capsOf[i]!.every((cap) => capMax[cap]! > 0)) list.push(i);
  }
  return Int32Array.from(list);
}

import type { CompiledProblem } from './compile.js';

/** Whether the item can open a bin of the offer. */
export const doesOpen = ({ opens, sets, setOf, shapeOf }: CompiledProblem, offer: number, item: number): boolean =>
  opens === undefined || opens[offer * sets + setOf[shapeOf[item]!]!] === 1;

/** Whether one of the items with pods can open a bin of the offer. */
export function isOpened(
  compiled: CompiledProblem,
  offer: number,
  items: Int32Array,
  counts: (item: number) => boolean = () => true,
): boolean {
  return compiled.opens === undefined || items.some((item) => counts(item) && doesOpen(compiled, offer, item));
}

/** By supply: whether every item that its bins may hold can open them. */
export function openToAll({ opens, sets, supply, offers }: CompiledProblem): Uint8Array {
  const all = new Uint8Array(supply.count).fill(1);
  if (opens === undefined) return all;
  for (let offer = 0; offer < offers; offer++) {
    const k = supply.of[offer]!;
    if (supply.sets[k]!.some((set) => opens[offer * sets + set] === 0)) all[k] = 0;
  }
  return all;
}

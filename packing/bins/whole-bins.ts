import type { CompiledProblem } from './compile.js';

/**
 * Lower bound of the price of whole bins for pods that no open bin takes: the most expensive pod needs a bin that holds
 * it, and the pods of a cap need as many bins as the cap requires. Tighter than fractions of bins if few bins are
 * bought.
 */
export function wholeBinsBound(compiled: CompiledProblem, items: Int32Array): number {
  const { openSets, capsOf, capMax, pods } = compiled;
  const holders = new Map<number, number>();
  const counts = new Float64Array(capMax.length);
  const least = new Float64Array(capMax.length).fill(Infinity);
  let bound = 0;
  for (const item of items) {
    if (pods[item]! === 0 || openSets.some((admitted) => admitted[item] === 1)) continue;
    const shape = compiled.shapeOf[item]!;
    let price = holders.get(shape);
    if (price === undefined) holders.set(shape, (price = cheapestHolder(compiled, shape)));
    bound = Math.max(bound, price);
    for (const cap of capsOf[item]!) {
      counts[cap] = counts[cap]! + pods[item]!;
      least[cap] = Math.min(least[cap]!, price);
    }
  }
  counts.forEach((count, cap) => {
    if (count > 0) bound = Math.max(bound, Math.ceil(count / capMax[cap]!) * least[cap]!);
  });
  return bound;
}

/** The price of the cheapest offer that holds one pod of the shape. */
function cheapestHolder({ offersOfSet, setOf, dims, demand, capacity, price }: CompiledProblem, shape: number): number {
  const holder = offersOfSet[setOf[shape]!]!.find((offer) => {
    for (let d = 0; d < dims; d++) if (demand[shape * dims + d]! > capacity[offer * dims + d]!) return false;
    return true;
  });
  return holder === undefined ? 0 : price[holder]!;
}

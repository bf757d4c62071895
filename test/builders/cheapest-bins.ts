import type { MarketProblem } from '../../cli/bound/market.js';

/** The least price of bins for all pods, by trying everything. Requirements, limits and openers are left out. */
export function cheapestBins({ pods, weight, width, markets, conflicts }: MarketProblem): number {
  const known = new Map<string, number>();
  const bins = markets.flatMap(({ items, bins: own }) => own.map((bin) => ({ ...bin, items: new Set(items) })));
  const contents = (left: readonly number[], capacity: Float64Array, items: ReadonlySet<number>): number[][] => {
    let found: number[][] = [left.map(() => 0)];
    left.forEach((count, item) => {
      if (!items.has(item)) return;
      found = found.flatMap((content) =>
        Array.from({ length: count + 1 }, (_, n) => content.with(item, n)).filter((more) => {
          const isApart = conflicts[item]!.some((other) => more[item]! > 0 && more[other]! > 0);
          return !isApart && capacity.every((amount, d) =>
            amount >= more.reduce((sum, n, k) => sum + n * weight[k * width + d]!, 0)); // prettier-ignore
        }),
      );
    });
    return found.filter((content) => content.some((n) => n > 0));
  };
  const best = (left: readonly number[]): number => {
    if (left.every((count) => count === 0)) return 0;
    const text = left.join();
    let least = known.get(text);
    if (least !== undefined) return least;
    least = Infinity;
    for (const { price, capacity, items } of bins) {
      for (const content of contents(left, capacity, items)) {
        least = Math.min(least, price + best(left.map((count, item) => count - content[item]!)));
      }
    }
    known.set(text, least);
    return least;
  };
  return best([...pods]);
}

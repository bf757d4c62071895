import type { MarketProblem } from './market.js';

/** The same problem with indistinguishable items merged, and the merged item of each. */
export function mergeMarketItems(problem: MarketProblem): { problem: MarketProblem; of: Int32Array } {
  const texts = signatures(problem);
  const of = new Int32Array(texts.length);
  const first: number[] = [];
  const known = new Map<string, number>();
  texts.forEach((text, item) => {
    let merged = known.get(text);
    if (merged === undefined) {
      merged = first.push(item) - 1;
      known.set(text, merged);
    }
    of[item] = merged;
  });
  const { width, weight, pods, conflicts, markets, requirements } = problem;
  const merged = {
    width,
    weight: Float64Array.from(
      { length: first.length * width },
      (_, k) => weight[first[Math.floor(k / width)]! * width + (k % width)]!,
    ),
    pods: new Int32Array(first.length),
    conflicts: first.map((item) => [...listOf(conflicts[item]!, of)]),
    markets: markets.map((market) => ({
      ...market,
      items: listOf(market.items, of),
      ...(market.openers !== undefined && { openers: listOf(market.openers, of) }),
    })),
    requirements: requirements.map(({ items, least }) => ({ items: listOf(items, of), least })),
    limits: problem.limits,
  };
  pods.forEach((count, item) => (merged.pods[of[item]!] = merged.pods[of[item]!]! + count));
  return { problem: merged, of };
}

const listOf = (items: Iterable<number>, of: Int32Array): Int32Array =>
  Int32Array.from(new Set(Array.from(items, (item) => of[item]!))).sort();

/** Keys that are equal for equal items. Items with conflicts have unique keys. */
function signatures({ width, weight, pods, conflicts, markets, requirements }: MarketProblem): string[] {
  const texts = Array.from(pods, (_, item) => {
    const apart = conflicts[item]!.length > 0 ? `x${item}` : '';
    return `${weight.subarray(item * width, (item + 1) * width).join()}${apart}`;
  });
  const note = (items: Int32Array, mark: string): void => {
    for (const item of items) texts[item] = texts[item]! + mark;
  };
  markets.forEach(({ items, openers }, m) => {
    note(items, ` m${m}`);
    if (openers !== undefined) note(openers, ` o${m}`);
  });
  requirements.forEach(({ items }, r) => note(items, ` r${r}`));
  return texts;
}

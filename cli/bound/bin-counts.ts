import type { BinCount, PatternBound } from './pattern-bound.js';
import type { Market, MarketContent, MarketProblem } from './market.js';

/** Minimum and maximum number of bins of one kind, not counting bins that other ranges buy. */
export interface CountRange {
  readonly kind: BinKind;
  readonly least: number;
  /** Infinity: any number. */
  readonly most: number;
}

/** Bins of equal price, in one market or several. */
type BinKind = readonly { readonly market: number; readonly bin: number }[];

/** A problem with ranges for the numbers of some bins, converted to a problem without ranges. */
export interface RangedProblem {
  readonly problem: MarketProblem;
  /** Price of the minimum numbers of bins, which are free in the problem. */
  readonly paid: number;
  /** Number of markets that exist without the ranges. */
  readonly ownMarkets: number;
  /** By additional market of `problem`: its bins. */
  readonly bought: BinKind;
}

/** A number of bins that is this close to a whole number counts as whole. */
const whole = 1e-4;

/** Whether limits allow the least numbers of bins. */
export function isPossible({ problem }: RangedProblem): boolean {
  return problem.limits.every((left) => left >= 0);
}

/**
 * Converts ranges. The minimum number of bins is bought in advance and becomes free; a limit allows as many further
 * bins as the range does. For example, at least 2 and at most 3 bins of $5: `paid` is 10, a market has 2 free bins, and
 * a limit allows one more.
 */
export function withRanges(problem: MarketProblem, ranges: readonly CountRange[]): RangedProblem {
  const { markets } = problem;
  const capped = ranges.filter(({ most }) => most < Infinity);
  const paid = ranges.filter(({ least }) => least > 0);
  const capsOf = (market: number, bin: number): number[] =>
    capped.map(({ kind }) => (kind.some((each) => each.market === market && each.bin === bin) ? 1 : 0));
  const unbought = paid.map(() => 0);
  // All markets of a kind share its bought bins: one limit for each market.
  const sharesOf = (p: number): Float64Array =>
    Float64Array.of(...problem.limits.map(() => 0), ...capped.map(() => 0), ...paid.map((_, q) => (p === q ? 1 : 0)));
  const bought = paid.flatMap(({ kind, least }, p) =>
    kind.map(({ market, bin }): Market => {
      const own = markets[market]!;
      return { ...own, bins: [{ ...own.bins[bin]!, price: 0, use: sharesOf(p) }], count: least };
    }),
  );
  return {
    problem: {
      ...problem,
      limits: [
        ...problem.limits.map((left, l) => left - sum(paid.map((range) => range.least * leastUse(markets, range, l)))),
        ...capped.map(({ least, most }) => most - least),
        ...paid.map(({ least }) => least),
      ],
      markets: [
        ...markets.map((market, m) => ({
          ...market,
          bins: market.bins.map((each, b) => ({
            ...each,
            use: Float64Array.of(...each.use, ...capsOf(m, b), ...unbought),
          })),
        })),
        ...bought,
      ],
    },
    paid: sum(paid.map(({ kind, least }) => least * markets[kind[0]!.market]!.bins[kind[0]!.bin]!.price)),
    ownMarkets: markets.length,
    bought: paid.flatMap(({ kind }) => kind),
  };
}

/** Minimum use of the limit by a bin of the kind. */
function leastUse(markets: readonly Market[], { kind }: CountRange, limit: number): number {
  return Math.min(...kind.map(({ market, bin }) => markets[market]!.bins[bin]!.use[limit]!));
}

/** Converts contents of bins to the problem with ranges: bought bins may have them too. */
export function contentsWithin(
  { ownMarkets, bought }: RangedProblem,
  contents: readonly MarketContent[],
): MarketContent[] {
  return contents.flatMap((content) => [
    content,
    ...bought.flatMap(({ market, bin }, k) =>
      content.market === market && content.bin === bin ? [{ ...content, market: ownMarkets + k, bin: 0 }] : [],
    ),
  ]);
}

/** Converts contents found for the problem with ranges to the problem without, without duplicates. */
export function contentsWithout({ ownMarkets, bought }: RangedProblem, { contents }: PatternBound): MarketContent[] {
  const found = new Map<string, MarketContent>();
  for (const { market, bin, items, pods } of contents) {
    const origin = bought[market - ownMarkets] ?? { market, bin };
    found.set(`${origin.market} ${origin.bin} ${items.join()} ${pods.join()}`, { ...origin, items, pods });
  }
  return [...found.values()];
}

/**
 * Branches on the number of bins of one kind: at most n, and at least n + 1. Each solution is in one branch. The kind
 * is the one whose fractional bin costs most; undefined if all numbers are integers. Bins of equal price in all markets
 * are counted together. Only if these totals are integers are they counted by market: otherwise equal bins of other
 * markets would replace the limited ones.
 */
export function splitByCount(
  problem: MarketProblem,
  ranges: readonly CountRange[],
  counts: readonly BinCount[],
): readonly [readonly CountRange[], readonly CountRange[]] | undefined {
  // Bins bought in advance have integer numbers.
  const own = counts.filter(
    ({ market }) => problem.markets[market]?.count === undefined && market < problem.markets.length,
  );
  const ofPrice = new Map<number, number>();
  for (const { market, bin, count } of own) {
    const { price } = problem.markets[market]!.bins[bin]!;
    ofPrice.set(price, (ofPrice.get(price) ?? 0) + count);
  }
  const all = Array.from(ofPrice, ([price, count]) => ({ kind: binsAt(problem, price), count }));
  const byMarket = own.map(({ market, bin, count }) => ({ kind: [{ market, bin }], count }));
  const split = worst(problem, all) ?? worst(problem, byMarket);
  if (split === undefined) return undefined;
  const { kind, count } = split;
  const text = JSON.stringify(kind);
  const { least, most } = ranges.find((range) => JSON.stringify(range.kind) === text) ?? { least: 0, most: Infinity };
  const others = ranges.filter((range) => JSON.stringify(range.kind) !== text);
  const few = least + Math.floor(count);
  return [
    [...others, { kind, least, most: few }],
    [...others, { kind, least: few + 1, most }],
  ];
}

interface KindCount {
  readonly kind: BinKind;
  readonly count: number;
}

/** The kind whose fractional bin costs most. */
function worst({ markets }: MarketProblem, counts: readonly KindCount[]): KindCount | undefined {
  let found: KindCount | undefined;
  let dearest = 0;
  for (const each of counts) {
    const { market, bin } = each.kind[0]!;
    const fraction = each.count - Math.floor(each.count);
    const cost = Math.min(fraction, 1 - fraction) * markets[market]!.bins[bin]!.price;
    if (fraction < whole || fraction > 1 - whole || cost <= dearest) continue;
    [found, dearest] = [each, cost];
  }
  return found;
}

/** All bins of this price that can be bought. */
function binsAt({ markets }: MarketProblem, price: number): BinKind {
  return markets.flatMap((market, m) =>
    market.count === undefined
      ? [...market.bins.keys()].filter((b) => market.bins[b]!.price === price).map((bin) => ({ market: m, bin }))
      : [],
  );
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

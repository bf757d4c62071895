import type { Content, Market, MarketContent, MarketProblem } from './market.js';
import { type BinCount, patternBound, type PatternBound } from './pattern-bound.js';
import type { ForcedByRules } from './forced.js';
import type { Pinned } from './market-problem.js';

/** Minimum and maximum number of bins of one kind, not counting bins that other ranges buy. */
interface CountRange {
  readonly kind: BinKind;
  readonly least: number;
  /** Infinity: any number. */
  readonly most: number;
}

/** Bins of equal price, in one market or several. */
type BinKind = readonly { readonly market: number; readonly bin: number }[];

/** A problem with ranges for the numbers of some bins, converted to a problem without ranges. */
interface RangedProblem {
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
function isPossible({ problem }: RangedProblem): boolean {
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
function contentsWithin({ ownMarkets, bought }: RangedProblem, contents: readonly MarketContent[]): MarketContent[] {
  return contents.flatMap((content) => [
    content,
    ...bought.flatMap(({ market, bin }, k) =>
      content.market === market && content.bin === bin ? [{ ...content, market: ownMarkets + k, bin: 0 }] : [],
    ),
  ]);
}

/** Converts contents found for the problem with ranges to the problem without, without duplicates. */
function contentsWithout({ ownMarkets, bought }: RangedProblem, { contents }: PatternBound): MarketContent[] {
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

/** Branching on the domain of pods that must share one continues while it raises the bound by more than this share. */
const worthwhile = 1e-4;
/** Number of consecutive rules without effect on the bound after which no more are tried. */
const mostUseless = 3;
/** A bound this close to the price of the plan is not improved further. */
const nearEnough = 1 - 1e-4;
/** Share of all units for branching on numbers of nodes: the bound approaches the price soon, or hardly at all. */
const countingShare = 0.1;
/** If the first bound took more than this multiple of that share, too little is left for branching. */
const affordable = 1.5;

/**
 * A node of the search tree: a set of decisions about domains and numbers of nodes, with the lower bound under them.
 */
interface Leaf {
  readonly pinned: Pinned;
  /** Number of rules already decided. */
  readonly decided: number;
  readonly ranges: readonly CountRange[];
  readonly bound: number;
  /** Solution of the linear program: fractional numbers of nodes by kind, and the known contents. */
  readonly counts: readonly BinCount[];
  readonly contents: readonly MarketContent[];
}

interface BoundInput {
  /** Total work for all bounds. */
  readonly units: number;
  /** Contents of the nodes of a plan. */
  readonly packed: readonly Content[];
  /** Another bound: if the first one is below it, no branching is done. */
  readonly otherBound: number;
}

/**
 * Branch and bound: each solution is in one of the leaves, so that the lowest of their bounds is valid. The leaf with
 * the lowest bound is split repeatedly: by the domain of pods that must share one, and by the number of nodes of a
 * kind, which is fractional in the linear program.
 */
export class Choices {
  private readonly leaves: Leaf[] = [];
  private readonly problems = new Map<Pinned, MarketProblem>();
  private left: number;
  /** Number of consecutive rules without effect. */
  private useless = 0;

  constructor(
    private readonly problemOf: (pinned: Pinned) => MarketProblem,
    private readonly rules: ForcedByRules['together'],
    private readonly input: BoundInput,
  ) {
    this.left = input.units;
    this.leaves.push(this.evaluate({ pinned: new Map(), decided: 0, ranges: [], bound: 0, contents: [] }));
  }

  get bound(): number {
    return Math.min(...this.leaves.map(({ bound }) => bound));
  }

  /** Number of rules that the bound takes into account. */
  get rulesDecided(): number {
    return Math.min(...this.leaves.map(({ decided }) => decided));
  }

  /** Splits leaves until the bound reaches `price`, or the work is used up. */
  decide(price: number): void {
    if (this.bound < this.input.otherBound) return;
    const forCounting = this.input.units * countingShare;
    let counting = this.input.units - this.left > affordable * forCounting ? 0 : forCounting;
    while (this.left > 0) {
      this.leaves.sort((a, b) => b.bound - a.bound);
      const lowest = this.leaves.at(-1)!;
      if (lowest.bound >= price * nearEnough) return;
      let children = this.byRule(lowest);
      if (children === undefined && counting > 0) {
        const before = this.left;
        children = this.byCount(lowest);
        counting -= before - this.left;
      }
      if (children === undefined) return;
      this.leaves.pop();
      this.leaves.push(...children);
    }
  }

  /** One leaf for each possible domain of the pods of the next rule. */
  private byRule(leaf: Leaf): Leaf[] | undefined {
    const rule = this.rules[leaf.decided];
    if (rule === undefined || this.useless >= mostUseless) return undefined;
    const children = rule.domains.map((domain) => {
      const pinned = new Map(leaf.pinned);
      for (const part of rule.parts) pinned.set(part, { key: rule.group.key, domain });
      // Constraints on the pods differ by domain, and so do markets and contents.
      return this.evaluate({ pinned, decided: leaf.decided + 1, ranges: [], bound: leaf.bound, contents: [] });
    });
    const raised = Math.min(...children.map(({ bound }) => bound)) > leaf.bound * (1 + worthwhile);
    this.useless = raised ? 0 : this.useless + 1;
    return children;
  }

  /** One leaf with few nodes of a kind, and one with more; undefined if all numbers are integers. */
  private byCount(leaf: Leaf): Leaf[] | undefined {
    return splitByCount(this.problemUnder(leaf.pinned), leaf.ranges, leaf.counts)?.map((ranges) =>
      this.evaluate({ ...leaf, ranges }),
    );
  }

  private problemUnder(pinned: Pinned): MarketProblem {
    let problem = this.problems.get(pinned);
    if (problem === undefined) this.problems.set(pinned, (problem = this.problemOf(pinned)));
    return problem;
  }

  /** The leaf with its bound, which is at least that of its parent. */
  private evaluate(leaf: Omit<Leaf, 'counts'>): Leaf {
    if (this.left <= 0) return { ...leaf, counts: [] };
    const ranged = withRanges(this.problemUnder(leaf.pinned), leaf.ranges);
    if (!isPossible(ranged)) return { ...leaf, bound: Infinity, counts: [], contents: [] };
    const { packed, otherBound } = this.input;
    const contents = contentsWithin(ranged, leaf.contents);
    const found = patternBound(
      ranged.problem,
      this.left,
      { packed, contents },
      leaf.ranges.length > 0 ? 0 : otherBound,
    );
    this.left -= found.work;
    const bound = Math.max(leaf.bound, ranged.paid + found.bound);
    return { ...leaf, bound, counts: found.counts, contents: contentsWithout(ranged, found) };
  }
}

import {
  contentsWithin,
  contentsWithout,
  isPossible,
  splitByCount,
  withRanges,
  type CountRange,
} from './bin-counts.js';
import type { Content, MarketContent, MarketProblem } from './market.js';
import { patternBound, type BinCount } from './pattern-bound.js';
import type { ForcedByRules } from './forced.js';
import type { Pinned } from './market-problem.js';

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

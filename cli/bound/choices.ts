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

/** Choices of a domain for pods that must share one are tried while they raise the bound by more than this share. */
const worthwhile = 1e-4;
/** Rules whose choices raised nothing, after which no more are tried. */
const mostUseless = 3;
/** A bound this near to the price of the plan is not worth more work. */
const nearEnough = 1 - 1e-4;
/** Work for counting nodes as whole, as a share of all units: the bound comes near to the price soon, or hardly at all. */
const countingShare = 0.1;
/** A first bound that took more than this share of that work leaves too little for the others. */
const affordable = 1.5;

/** Some of the choices of domains and numbers of nodes, with the least that pods cost under them. */
interface Leaf {
  readonly pinned: Pinned;
  /** How many of the rules are decided. */
  readonly decided: number;
  readonly ranges: readonly CountRange[];
  readonly bound: number;
  /** What the linear program came to: how many nodes of which kind, and the contents that it knows. */
  readonly counts: readonly BinCount[];
  readonly contents: readonly MarketContent[];
}

interface BoundInput {
  /** Work for all bounds together. */
  readonly units: number;
  /** Contents of the nodes of a plan. */
  readonly packed: readonly Content[];
  /** Another bound: where the first one is below it, nothing is decided. */
  readonly otherBound: number;
}

/**
 * Branch and bound: each solution is in one of the leaves, so that the lowest of their bounds holds. The leaf with the lowest bound is split again and again: by the domain of
 * pods that must share one, and by how many nodes of a kind there are, which the linear program counts in fractions.
 */
export class Choices {
  private readonly leaves: Leaf[] = [];
  private readonly problems = new Map<Pinned, MarketProblem>();
  private left: number;
  /** How many rules were decided in a row without effect. */
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

  /** How many of the rules count in the bound. */
  get rulesDecided(): number {
    return Math.min(...this.leaves.map(({ decided }) => decided));
  }

  /** Splits leaves until the bound comes to `price`, or the work is done. */
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

  /** One leaf for each domain in which the pods of the next rule may be. */
  private byRule(leaf: Leaf): Leaf[] | undefined {
    const rule = this.rules[leaf.decided];
    if (rule === undefined || this.useless >= mostUseless) return undefined;
    const children = rule.domains.map((domain) => {
      const pinned = new Map(leaf.pinned);
      for (const part of rule.parts) pinned.set(part, { key: rule.group.key, domain });
      // What holds of the pods differs by domain, and so do markets and contents.
      return this.evaluate({ pinned, decided: leaf.decided + 1, ranges: [], bound: leaf.bound, contents: [] });
    });
    const raised = Math.min(...children.map(({ bound }) => bound)) > leaf.bound * (1 + worthwhile);
    this.useless = raised ? 0 : this.useless + 1;
    return children;
  }

  /** One leaf with few nodes of a kind, and one with more; undefined where the nodes are whole ones. */
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

  /** The leaf with its bound, which is never below that of the leaf that it comes from. */
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

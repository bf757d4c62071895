import { isBufferPod } from '../../core/pods.js';
import type { PlacementState } from './placement-state.js';
import { Openers } from './openers.js';
import type { UnplacedPod } from './unplaced-pods.js';
import { RuleCheck, type BrokenRules } from './rule-check.js';

/** Criteria of comparison, in this order: unplaced pods, unplaced pods of capacity buffers, price, number of nodes. */
interface Score {
  readonly unplaced: number;
  readonly buffers: number;
  readonly price: number;
  readonly nodes: number;
}

/** The best plan so far. A change of the placement state is kept only if it improves the plan. */
export class Incumbent {
  private score: Score;
  /** Rules that were broken after the last accepted change. */
  private brokenBefore: BrokenRules | undefined;
  private readonly rules: RuleCheck;
  private readonly openers: Openers;
  /** Nodes without an opener in the best plan. */
  private unopened: number;

  constructor(
    readonly state: PlacementState,
    private unplacedPods: readonly UnplacedPod[],
  ) {
    this.score = this.scoreOf(unplacedPods);
    this.rules = new RuleCheck(
      state,
      state.required().map(({ rules }) => rules),
    );
    this.openers = new Openers(state);
    this.unopened = this.openers.unopened();
  }

  /** Pods without a place. */
  get unplaced(): readonly UnplacedPod[] {
    return this.unplacedPods;
  }

  /** Whether every pod has a place at no more than this price, dollars per hour. */
  isEnough(price: number): boolean {
    return this.score.unplaced + this.score.buffers === 0 && this.score.price <= price;
  }

  get price(): number {
    return this.score.price;
  }

  /** Called before a change: rules that are broken already do not count against it. */
  begin(): void {
    this.brokenBefore ??= this.rules.broken();
  }

  /** Keeps the change if the plan is better, and undoes it otherwise. `left`: the unplaced pods. */
  accept(left: readonly UnplacedPod[]): boolean {
    const { state } = this;
    const broken = this.brokenIfBetter(left);
    if (broken === undefined) {
      state.undo();
      return false;
    }
    state.commit();
    this.unopened = this.openers.unopened();
    this.brokenBefore = broken;
    this.score = this.scoreOf(left);
    this.unplacedPods = left;
    return true;
  }

  /** Whether `accept` would keep the change. */
  isBetter(left: readonly UnplacedPod[]): boolean {
    return this.brokenIfBetter(left) !== undefined;
  }

  /** The broken rules, if the plan is better and breaks no more rules than allowed. */
  private brokenIfBetter(left: readonly UnplacedPod[]): BrokenRules | undefined {
    const score = this.scoreOf(left);
    return isBetter(score, this.score) ? this.allowedBreaks(isFuller(score, this.score)) : undefined;
  }

  /**
   * The broken rules; undefined if the change must not break as many. If `isWorthIt`, the plan may depend on the
   * binding order.
   */
  private allowedBreaks(isWorthIt: boolean): BrokenRules | undefined {
    if (!isWorthIt && this.openers.unopened() > this.unopened) return undefined;
    const before = this.brokenBefore!;
    const broken = this.rules.broken();
    if (this.rules.violatesMore(broken, before)) return undefined;
    const isKnown = [...broken.metInOrder].every((text) => before.metInOrder.has(text) || before.violated.has(text));
    return isWorthIt || isKnown ? broken : undefined;
  }

  private scoreOf(left: readonly UnplacedPod[]): Score {
    const buffers = left.filter(({ podClass }) => isBufferPod(podClass.shape.exemplar)).length;
    const { tentativeNodes } = this.state;
    return { unplaced: left.length - buffers, buffers, price: this.state.price(), nodes: tentativeNodes.length };
  }
}

/** Whether more pods have a place. */
const isFuller = (a: Score, b: Score): boolean =>
  a.unplaced === b.unplaced ? a.buffers < b.buffers : a.unplaced < b.unplaced;

function isBetter(a: Score, b: Score): boolean {
  if (a.unplaced !== b.unplaced || a.buffers !== b.buffers) return isFuller(a, b);
  if (Math.abs(a.price - b.price) > 1e-9) return a.price < b.price;
  return a.nodes < b.nodes;
}

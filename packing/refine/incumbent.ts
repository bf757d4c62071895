import { isBufferPod } from '../compile/buffers.js';
import type { Board } from './board.js';
import type { UnplacedPod } from './unplaced-pods.js';
import { RuleCheck, type Broken } from './rule-check.js';

/** What plans are compared by: pods left out count most, those of buffers less, then the price, then the nodes. */
interface Score {
  readonly left: number;
  readonly buffers: number;
  readonly price: number;
  readonly nodes: number;
}

/** The best plan so far, on a board: what is done there lasts where it makes the plan better. */
export class Incumbent {
  private score: Score;
  /** What did not hold after the last change that was made lasting. */
  private brokenBefore: Broken | undefined;
  private readonly rules: RuleCheck;
  /** Up to this price fewer nodes count more than the price; undefined while they do not. */
  private fewestUpTo: number | undefined;

  constructor(
    readonly board: Board,
    private unplaced: readonly UnplacedPod[],
  ) {
    this.score = this.scoreOf(unplaced);
    this.rules = new RuleCheck(
      board,
      board.required().map(({ rules }) => rules),
    );
  }

  /** Pods that found no place. */
  get left(): readonly UnplacedPod[] {
    return this.unplaced;
  }

  /** Whether every pod has a place, for no more dollars per hour than that. */
  isEnough(price: number): boolean {
    return this.score.left + this.score.buffers === 0 && this.score.price <= price;
  }

  /** From now on of plans up to this price, dollars per hour, those with fewer nodes are better. */
  preferFewer(price: number): void {
    this.fewestUpTo = price;
  }

  get price(): number {
    return this.score.price;
  }

  /** To be called before the board is changed: what does not hold by then is not held against the change. */
  begin(): void {
    this.brokenBefore ??= this.rules.broken();
  }

  /** Makes what was done lasting where it is better, and takes it back otherwise. `left`: who has no place now. */
  accept(left: readonly UnplacedPod[]): boolean {
    const { board, brokenBefore } = this;
    const score = this.scoreOf(left);
    if (!this.isBetter(score, this.score) || this.rules.breaksMore(brokenBefore!, isFuller(score, this.score))) {
      board.undo();
      return false;
    }
    board.commit();
    this.brokenBefore = undefined;
    this.score = score;
    this.unplaced = left;
    return true;
  }

  private isBetter(a: Score, b: Score): boolean {
    const { fewestUpTo = -Infinity } = this;
    const isSame = a.left === b.left && a.buffers === b.buffers;
    if (isSame && a.nodes !== b.nodes && Math.max(a.price, b.price) <= fewestUpTo) return a.nodes < b.nodes;
    return isBetter(a, b);
  }

  private scoreOf(left: readonly UnplacedPod[]): Score {
    const buffers = left.filter(({ podClass }) => isBufferPod(podClass.shape.exemplar)).length;
    const { tentativeNodes } = this.board;
    return { left: left.length - buffers, buffers, price: this.board.price(), nodes: tentativeNodes.length };
  }
}

/** Whether more pods have a place. */
const isFuller = (a: Score, b: Score): boolean => (a.left === b.left ? a.buffers < b.buffers : a.left < b.left);

function isBetter(a: Score, b: Score): boolean {
  if (a.left !== b.left || a.buffers !== b.buffers) return isFuller(a, b);
  if (Math.abs(a.price - b.price) > 1e-9) return a.price < b.price;
  return a.nodes < b.nodes;
}

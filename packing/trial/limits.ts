import { labels } from '../../api/labels.js';
import { commitmentId } from '../compile/catalogue-terms.js';
import type { Compiled } from '../compile/compiled.js';
import { rowUse, type PoolLimit, capacityOf, poolLimits } from '../compile/pool-limits.js';
import type { Row } from '../compile/universe.js';
import type { NodeState } from '../place/node-states.js';
import type { Journal } from './journal.js';

/** What NodePool limits and commitments leave to launch while a trial launches and removes nodes. */
export class TrialLimits {
  private readonly limits: readonly PoolLimit[];
  /** By launched node: its use of a limit. */
  private readonly launched = new Map<NodeState, (limit: PoolLimit) => number>();

  constructor(
    private readonly compiled: Compiled,
    private readonly journal: Journal,
    pods: number,
  ) {
    this.limits = poolLimits(compiled, pods).map((limit) => ({ ...limit }));
  }

  /** The number of launched nodes. */
  get launches(): number {
    return this.launched.size;
  }

  /** Charges a launched node of this row. */
  take(node: NodeState, row: Row): void {
    const use = (limit: PoolLimit): number => rowUse(row, limit);
    const add = (): unknown => this.launched.set(node, use);
    add();
    this.journal.note({ undo: () => this.launched.delete(node), redo: add });
    for (const limit of this.limits) this.count(limit, -use(limit));
  }

  /** Refunds what a removed node used. */
  release(node: NodeState): void {
    for (const limit of this.limits) this.count(limit, this.usedBy(node, limit));
  }

  /** The limits after these nodes are removed. */
  afterRemoving(going: readonly NodeState[]): PoolLimit[] {
    return this.limits.map((limit) => ({
      ...limit,
      remaining: going.reduce((sum, node) => sum + this.usedBy(node, limit), limit.remaining),
    }));
  }

  /** The limits after these nodes are removed and one of each row is launched; undefined if that exceeds one. */
  afterReplacing(going: readonly NodeState[], rows: readonly Row[]): PoolLimit[] | undefined {
    const limits = this.afterRemoving(going);
    for (const limit of limits) {
      const used = rows.reduce((sum, row) => sum + rowUse(row, limit), 0);
      if (used > 0 && used > limit.remaining) return undefined;
      limit.remaining -= used;
    }
    return limits;
  }

  /** Whether some of the pools has used up none of its limits after these nodes are removed. */
  someLeft(going: readonly NodeState[], pools: readonly { readonly name: string }[]): boolean {
    const full = new Set(this.afterRemoving(going).flatMap(({ pool, remaining }) => (remaining > 0 ? [] : [pool])));
    return pools.some(({ name }) => !full.has(name));
  }

  private count(limit: PoolLimit, amount: number): void {
    if (amount === 0) return;
    const add = (more: number): void => {
      limit.remaining += more;
    };
    add(amount);
    this.journal.note({ undo: () => add(-amount), redo: () => add(amount) });
  }

  private usedBy(node: NodeState, limit: PoolLimit): number {
    const use = this.launched.get(node);
    if (use !== undefined) return use(limit);
    const { view } = node;
    if (limit.reservation !== undefined) return this.coveredOf(view.name, limit.reservation);
    if (limit.pool === undefined || limit.pool !== view.labels[poolKey]) return 0;
    return limit.resource === 'nodes' ? 1 : capacityOf(view, limit.resource);
  }

  private coveredOf(node: string, reservation: string): number {
    for (const [name, amount] of this.compiled.coverage.nodes.get(node)?.taken ?? []) {
      if (commitmentId(name) === reservation) return amount;
    }
    return 0;
  }
}

const poolKey = labels.nodePool;

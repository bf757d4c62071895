import { labels } from '../../api/labels.js';
import { commitmentId } from '../compile/catalogue-terms.js';
import type { Compiled } from '../compile/compiled.js';
import { rowUse, type PoolLimit, capacityOf, poolLimits } from '../compile/pool-limits.js';
import { noProfiles, type Profile, type Row } from '../compile/universe.js';
import type { NodeState } from '../place/node-states.js';
import type { Journal } from './journal.js';

/** What NodePool limits and commitments leave to launch while a trial launches and removes nodes. */
export class TrialLimits {
  private readonly limits: readonly PoolLimit[];
  /** By limit and profile: the least that a node of the profile uses. */
  private readonly leastUse: readonly Float64Array[];
  /** By launched node: its use of a limit. */
  private readonly launched = new Map<NodeState, (limit: PoolLimit) => number>();

  constructor(
    private readonly compiled: Compiled,
    private readonly journal: Journal,
    pods: number,
  ) {
    this.limits = poolLimits(compiled, pods).map((limit) => ({ ...limit }));
    const { profiles, rows } = compiled.universe;
    this.leastUse = this.limits.map((limit) =>
      Float64Array.from(profiles, (profile) =>
        profile.rows.reduce((least, row) => Math.min(least, rowUse(rows[row]!, limit)), Infinity),
      ),
    );
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

  /**
   * The profiles that have no room in limits after these nodes are removed and one of each row is launched: pods go to
   * lighter NodePools (scheduling/heaviest-pool-first).
   */
  fullAfter(going: readonly NodeState[], rows: readonly Row[] = []): ReadonlySet<Profile> {
    if (this.limits.length === 0) return noProfiles;
    const left = this.afterRemoving(going).map(
      (limit) => limit.remaining - rows.reduce((sum, row) => sum + rowUse(row, limit), 0),
    );
    const full = this.compiled.universe.profiles.filter(({ index }) =>
      this.leastUse.some((least, i) => least[index]! > 0 && least[index]! > left[i]!),
    );
    return full.length === 0 ? noProfiles : new Set(full);
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

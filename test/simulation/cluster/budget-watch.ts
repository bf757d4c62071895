import { labels } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { NodePool, NodePoolDisruption } from '../../../api/karpenter/node-pool.js';
import { parseDuration } from '../../../core/durations.js';
import { isDisruptedByChoice, reasonOf } from './by-choice.js';
import type { SimulatedCluster } from './world.js';

type Budgets = NonNullable<NodePoolDisruption['budgets']>;

/** For how long nodes that have gone count, and budgets that were changed, milliseconds: a command is decided before its nodes are marked. */
const countedMs = 10 * 60_000;
const minuteMs = 60_000;

interface Kept<T> {
  readonly pool: string;
  readonly at: number;
  readonly value: T;
}

/** Holds NodePools to their budgets (invariants/budgets-hold), by what a watch of the cluster shows alone. */
export class BudgetWatch {
  private nodes: Kept<number>[] = [];
  private budgets: Kept<Budgets>[] = [];
  private excusedUntil = 0;

  constructor(
    private readonly cluster: Pick<SimulatedCluster, 'cache'>,
    private readonly broken: (problem: string) => void,
  ) {
    cluster.cache.on('NodePool', ({ object }) => this.noteBudgets(object));
    for (const pool of cluster.cache.all('NodePool')) this.noteBudgets(pool);
    cluster.cache.on('NodeClaim', ({ type, object, previous }) => {
      const pool = poolOf(object);
      this.nodes = [...this.nodes.filter(isCounted(pool)), { pool, at: Date.now(), value: this.ownOf(pool).length }];
      const isNew = isDisruptedByChoice(object) && (previous === undefined || !isDisruptedByChoice(previous));
      if (type !== 'deleted' && isNew) this.expectWithin(pool, reasonOf(object) ?? '');
    });
  }

  /** The cluster is at an earlier state: disruptions that it does not know do not count. */
  excuse(): void {
    this.excusedUntil = Date.now() + countedMs;
  }

  get isExcused(): boolean {
    return Date.now() < this.excusedUntil;
  }

  private noteBudgets({ metadata, spec }: NodePool): void {
    const pool = metadata.name ?? '';
    const [last] = this.budgets.filter((each) => each.pool === pool).slice(-1);
    const value = spec.disruption.budgets;
    if (JSON.stringify(last?.value) === JSON.stringify(value)) return;
    this.budgets.push({ pool, at: Date.now(), value });
  }

  private expectWithin(pool: string, reason: string): void {
    const now = Date.now();
    if (this.isExcused) return;
    const nodes = Math.max(0, ...this.nodes.filter((each) => each.pool === pool).map(({ value }) => value));
    const disrupted = this.ownOf(pool).filter(isDisruptedByChoice).length;
    const allowed = Math.max(...this.inEffect(pool, now).map((budgets) => mostOf(budgets, reason, nodes, now)));
    if (disrupted <= allowed) return;
    this.broken(
      `NodePool ${pool}: ${disrupted} of ${nodes} nodes are disrupted, ${allowed} allowed for ${reason} (invariants/budgets-hold)`,
    );
  }

  /** All budgets that have been in effect lately. */
  private inEffect(pool: string, now: number): Budgets[] {
    const own = this.budgets.filter((each) => each.pool === pool);
    const lately = own.filter((_, index) => now - (own[index + 1]?.at ?? now) < countedMs);
    return lately.map(({ value }) => value);
  }

  private ownOf(pool: string): readonly NodeClaim[] {
    return this.cluster.cache.all('NodeClaim').filter((claim) => poolOf(claim) === pool);
  }
}

const poolOf = ({ metadata }: NodeClaim): string => metadata.labels?.[labels.nodePool] ?? '';

/** Of other pools all, of this one what was within the time that counts. */
const isCounted =
  (pool: string) =>
  (each: Kept<number>): boolean =>
    each.pool !== pool || Date.now() - each.at <= countedMs;

/** How many nodes of so many may be disrupted for a reason, by a budget's window at any time of late. */
export function mostOf(budgets: Budgets, reason: string, nodes: number, now: number): number {
  const bounds = budgets
    .filter(({ reasons }) => reasons === undefined || (reasons as readonly string[]).includes(reason))
    .filter((budget) => isActive(budget, now) && isActive(budget, now - countedMs))
    .map(({ nodes: most }) =>
      most.endsWith('%') ? Math.ceil((nodes * Number(most.slice(0, -1))) / 100) : Number(most),
    );
  return Math.min(nodes, ...bounds);
}

/** Of schedules it knows those of each hour: `30 * * * *`. */
function isActive({ schedule, duration }: Budgets[number], at: number): boolean {
  if (schedule === undefined) return true;
  const [minute = '', ...rest] = schedule.split(' ');
  if (rest.join(' ') !== '* * * *') throw new Error(`a schedule that the simulation does not know: ${schedule}`);
  const since = (((new Date(at).getUTCMinutes() - Number(minute)) % 60) + 60) % 60;
  return since * minuteMs < parseDuration(duration ?? '0s');
}

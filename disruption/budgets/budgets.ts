import type { Budget } from '../../api/karpenter/node-pool.js';
import { parseDuration } from '../../core/durations.js';
import { closingOf, openingAt, readSchedule } from './limits/schedule.js';
import { nodesOf } from './limits/past-disruptions.js';
import type { Bound } from './limits/past-disruptions.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';

/** The nodes that budgets count: the managed, initialized nodes of one NodePool (budgets/counted-nodes). */
export interface PoolCount {
  readonly total: number;
  /** Of these, the nodes that are NotReady, deleting, or being removed by a running disruption. */
  readonly disrupting: number;
}

export interface Allowance {
  /** How many more nodes may be disrupted now. */
  readonly allowed: number;
  /** The budget that applies, in words. */
  readonly ruledBy?: string;
  /** When the next budget opens or closes, milliseconds of the epoch. */
  readonly changesAt?: number;
}

/**
 * The limit that allows no more disruptions, in words. Without budgets, each node of the NodePool is being disrupted.
 */
export const ruledByText = ({ ruledBy = 'the number of nodes being disrupted' }: Allowance): string => ruledBy;

/**
 * How many nodes of a NodePool may be disrupted now for `reason` (budgets/allowed-now): the least of the open budgets
 * for that reason, less the nodes that are disrupting. A budget whose schedule does not parse allows none. `now` in
 * milliseconds.
 */
export function allowance(
  budgets: readonly Budget[] | undefined,
  reason: DisruptionReason,
  count: PoolCount,
  now: number,
): Allowance {
  let allowed = Math.max(0, count.total - count.disrupting);
  let tightest = Number.POSITIVE_INFINITY;
  let ruledBy: string | undefined;
  let changesAt = Number.POSITIVE_INFINITY;
  for (const bound of budgetBounds(budgets, reason, count, now)) {
    changesAt = Math.min(changesAt, bound.changesAt);
    allowed = Math.min(allowed, bound.allowed);
    if (bound.limit >= tightest) continue;
    tightest = bound.limit;
    ruledBy = bound.what;
  }
  return {
    allowed,
    ...(ruledBy === undefined ? {} : { ruledBy }),
    ...(Number.isFinite(changesAt) ? { changesAt } : {}),
  };
}

/** What each budget for the reason allows alone; `limit` does not subtract disrupting nodes. */
export function budgetBounds(
  budgets: readonly Budget[] | undefined,
  reason: DisruptionReason,
  count: PoolCount,
  now: number,
): readonly (Bound & { readonly limit: number })[] {
  return (budgets ?? [])
    .filter(({ reasons }) => reasons?.some((named) => named === reason) ?? true)
    .map((budget) => {
      const { open, valid, changesAt } = windowOf(budget, now);
      const nodes = valid ? nodesOf(budget.nodes, count.total) : 0;
      const limit = open ? nodes : Number.POSITIVE_INFINITY;
      return { limit, allowed: Math.max(0, limit - count.disrupting), what: describe(budget), changesAt };
    });
}

/**
 * How many of `total` nodes the open budgets for `reason` allow, without subtracting disrupting nodes
 * (budgets/allowed-now). For many calls with one `now`.
 */
export function limitNow(
  budgets: readonly Budget[] | undefined,
  reason: DisruptionReason,
  now: number,
): (total: number) => number {
  const limits = (budgets ?? [])
    .filter(({ reasons }) => reasons?.some((named) => named === reason) ?? true)
    .flatMap((budget) => {
      const { open, valid } = windowOf(budget, now);
      return open ? [valid ? budget.nodes : '0'] : [];
    });
  return (total) => limits.reduce((least, nodes) => Math.min(least, nodesOf(nodes, total)), total);
}

interface Window {
  readonly open: boolean;
  readonly valid: boolean;
  readonly changesAt: number;
}

/**
 * The window of a budget: open for the duration from each time of its schedule (UTC); without a schedule always open.
 */
function windowOf(budget: Budget, now: number): Window {
  if (budget.schedule === undefined || budget.duration === undefined) {
    return { open: true, valid: true, changesAt: Number.POSITIVE_INFINITY };
  }
  const schedule = readSchedule(budget.schedule);
  if (schedule === undefined) return { open: true, valid: false, changesAt: Number.POSITIVE_INFINITY };
  const opening = openingAt(schedule, parseDuration(budget.duration, 'duration'), now);
  if (opening !== undefined) return { open: true, valid: true, changesAt: closingOf(schedule, opening) };
  return { open: false, valid: true, changesAt: schedule.next(now) ?? Number.POSITIVE_INFINITY };
}

function describe({ nodes, schedule, duration, reasons }: Budget): string {
  const window = schedule === undefined ? '' : ` at "${schedule}" for ${duration ?? ''}`;
  const why = reasons === undefined ? '' : ` for ${reasons.join(', ')}`;
  return `budget ${nodes}${why}${window}`;
}

import { Cron } from 'croner';
import type { Budget } from '../api/karpenter/node-pool.js';
import type { DisruptionReason } from '../api/stowage/disruption-policy.js';
import { parseDuration } from '../core/durations.js';

/** What budgets are counted against: the managed, initialized nodes of one pool (section 4.2). */
export interface PoolCount {
  readonly total: number;
  /** Of these: NotReady, deleting, or claimed by a running disruption. */
  readonly disrupting: number;
}

export interface Allowance {
  /** How many more nodes may go now. */
  readonly allowed: number;
  /** The budget that rules, for a person. */
  readonly ruledBy?: string;
  /** When some budget opens or closes next, milliseconds of the epoch. */
  readonly changesAt?: number;
}

/**
 * How many nodes of a pool may be disrupted now for `reason` (section 4.2): the least of the open budgets that name the
 * reason, less those already going. A budget whose schedule does not parse allows nothing. `now` in milliseconds.
 */
export function allowance(
  budgets: readonly Budget[] | undefined,
  reason: DisruptionReason,
  count: PoolCount,
  now: number,
): Allowance {
  let limit = Number.POSITIVE_INFINITY;
  let ruledBy: string | undefined;
  let changesAt = Number.POSITIVE_INFINITY;
  for (const budget of budgets ?? []) {
    if (budget.reasons !== undefined && !budget.reasons.some((named) => named === reason)) continue;
    const window = windowOf(budget, now);
    changesAt = Math.min(changesAt, window.changesAt);
    if (!window.open) continue;
    const nodes = window.valid ? nodesOf(budget.nodes, count.total) : 0;
    if (nodes >= limit) continue;
    limit = nodes;
    ruledBy = describe(budget);
  }
  return {
    allowed: Math.max(0, Math.min(limit, count.total) - count.disrupting),
    ...(ruledBy === undefined ? {} : { ruledBy }),
    ...(Number.isFinite(changesAt) ? { changesAt } : {}),
  };
}

/**
 * The same for many looks at one moment: how many of `total` nodes the open budgets that name `reason` let go, whatever is
 * going already (section 4.2).
 */
export function limitNow(
  budgets: readonly Budget[] | undefined,
  reason: DisruptionReason,
  now: number,
): (total: number) => number {
  const limits: string[] = [];
  for (const budget of budgets ?? []) {
    if (budget.reasons !== undefined && !budget.reasons.some((named) => named === reason)) continue;
    const { open, valid } = windowOf(budget, now);
    if (open) limits.push(valid ? budget.nodes : '0');
  }
  return (total) => limits.reduce((least, nodes) => Math.min(least, nodesOf(nodes, total)), total);
}

/** `30%` of the nodes, rounded up, or a plain number. */
export function nodesOf(nodes: string, total: number): number {
  return nodes.endsWith('%') ? Math.ceil((Number(nodes.slice(0, -1)) * total) / 100) : Number(nodes);
}

interface Window {
  readonly open: boolean;
  readonly valid: boolean;
  readonly changesAt: number;
}

/** Open from each hit of the schedule (UTC) for the duration; a budget without a schedule is always open. */
function windowOf(budget: Budget, now: number): Window {
  if (budget.schedule === undefined || budget.duration === undefined) {
    return { open: true, valid: true, changesAt: Number.POSITIVE_INFINITY };
  }
  try {
    const length = parseDuration(budget.duration, 'duration');
    const cron = new Cron(budget.schedule.trim(), { timezone: 'UTC' });
    const hit = cron.nextRun(new Date(now - length))?.getTime();
    const open = hit !== undefined && hit <= now;
    if (!open) return { open, valid: true, changesAt: hit ?? Number.POSITIVE_INFINITY };
    return { open, valid: true, changesAt: closesAt(cron, hit, length) };
  } catch {
    return { open: true, valid: false, changesAt: Number.POSITIVE_INFINITY };
  }
}

const overlapsLooked = 1000;

/** Windows that overlap are one: the end of the last in the chain, or of the thousandth. */
function closesAt(cron: Cron, hit: number, length: number): number {
  let last = hit;
  for (let i = 0; i < overlapsLooked; i++) {
    const next = cron.nextRun(new Date(last))?.getTime();
    if (next === undefined || next > last + length) break;
    last = next;
  }
  return last + length;
}

function describe({ nodes, schedule, duration, reasons }: Budget): string {
  const window = schedule === undefined ? '' : ` at "${schedule}" for ${duration ?? ''}`;
  const why = reasons === undefined ? '' : ` for ${reasons.join(', ')}`;
  return `budget ${nodes}${why}${window}`;
}

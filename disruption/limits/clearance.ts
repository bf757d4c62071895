import type { Budget } from '../../api/karpenter/node-pool.js';
import type { DisruptionReason } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { budgetBounds } from '../budgets.js';
import type { PoolCount } from '../budgets.js';
import { pauseBound } from './pauses.js';
import type { StandingPause } from './pauses.js';
import type { Ruling } from './policies.js';
import { rateBound } from './rates.js';
import type { Bound, Start } from './start.js';
import { windowBound } from './windows.js';

/** What bounds the disruption of a NodePool. */
export interface PoolRules {
  readonly nodePool: string;
  readonly budgets: readonly Budget[] | undefined;
  readonly ruling: Ruling;
}

/** What the bounds are counted against. */
export interface PoolStanding {
  readonly count: PoolCount;
  /** What began lately, of any pool; `memoryOf` says for how long it matters. */
  readonly starts: readonly Start[];
  readonly pauses: readonly StandingPause[];
}

export interface Clearance {
  /** How many nodes of the pool may go now. */
  readonly allowed: number;
  /** What keeps it from being more, for a person; empty where only the size of the pool does. */
  readonly heldBy: readonly string[];
  /**
   * Where nothing may go now: when something may by the passing of time alone, milliseconds of the epoch. Absent when that
   * waits for something to happen: a disruption to end, a person, an edit.
   */
  readonly nextAt?: number;
}

const never = Number.POSITIVE_INFINITY;
/** Rules that let nothing through are looked through for this long, and this many changes. */
const lookAheadMs = 35 * 24 * 3_600_000;
const changesLooked = 64;

/**
 * How many nodes of a pool may go now for a reason, and when the next may: NodePool budgets (section 4.2), maintenance
 * windows, rates and pauses together; each of them holds. Reasons that budgets cannot name (`Expired`, `Unhealthy`)
 * are bound by the budgets that name none. `node` is the one asked about, where a pause may name it.
 */
export function clearance(
  reason: DisruptionReason,
  rules: PoolRules,
  standing: PoolStanding,
  now: number,
  node?: string,
): Clearance {
  const bounds = (at: number): readonly Bound[] => boundsOf(reason, rules, standing, at, node);
  const present = bounds(now);
  const allowed = Math.min(...present.map((bound) => bound.allowed));
  const tightest = present.filter((bound) => bound.allowed === allowed && bound.what !== '');
  const heldBy = tightest.map(({ what }) => what);
  if (allowed > 0) return { allowed, heldBy };
  const nextAt = opensAt(now, present, bounds);
  return { allowed: 0, heldBy, ...(nextAt === undefined ? {} : { nextAt }) };
}

/** Goes from change to change of what holds it up until nothing does. */
function opensAt(now: number, present: readonly Bound[], bounds: (at: number) => readonly Bound[]): number | undefined {
  let closed = present.filter(({ allowed }) => allowed === 0);
  for (let i = 0, at = now; i < changesLooked && at <= now + lookAheadMs; i++) {
    at = Math.max(...closed.map(({ changesAt }) => changesAt));
    if (!Number.isFinite(at)) return undefined;
    closed = bounds(at).filter(({ allowed }) => allowed === 0);
    if (closed.length === 0) return at;
  }
  return undefined;
}

function boundsOf(
  reason: DisruptionReason,
  { nodePool, budgets, ruling }: PoolRules,
  { count, starts, pauses }: PoolStanding,
  now: number,
  node: string | undefined,
): readonly Bound[] {
  if (ruling.broken !== undefined) return [{ allowed: 0, what: ruling.broken, changesAt: never }];
  const own = { starts: starts.filter((start) => start.nodePool === nodePool), total: count.total };
  const left = Math.max(0, count.total - count.disrupting);
  return [
    pauseBound(pauses, { reason, nodePool, ...(node === undefined ? {} : { node }) }, now),
    windowBound(ruling.spec.maintenanceWindows, reason, own, now),
    rateBound(ruling.spec.rates, reason, own, now),
    ...budgetBounds(budgets, reason, count, now),
    { allowed: left, what: left > 0 ? '' : 'no node is left that is not going already', changesAt: never },
  ];
}

/** For how long the starts of a pool must be remembered, milliseconds: its longest rate or window with a quota. */
export function memoryOf({ spec, broken }: Ruling): number {
  if (broken !== undefined) return 0;
  const rates = (spec.rates ?? []).map(({ per }) => parseDuration(per, 'per'));
  const quotas = (spec.maintenanceWindows ?? []).filter(({ quota }) => quota !== undefined);
  return Math.max(0, ...rates, ...quotas.map(({ duration }) => parseDuration(duration, 'duration')));
}

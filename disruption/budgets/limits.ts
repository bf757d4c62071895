import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy, DisruptionRate, MaintenanceWindow } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { type Allowance, budgetBounds, type PoolCount } from './budgets.js';
import { type Bound, disruptedSince, names, nodesOf, type PastDisruption } from './limits/past-disruptions.js';
import { type EffectivePolicy, effectivePolicyOf } from '../policies/effective-policy.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';
import { type Opening, openingAt, readSchedule, type Schedule } from './limits/schedule.js';

/** The context for limits on the disruption of a NodePool other than its budgets. */
export interface LimitsContext {
  /** Milliseconds of the epoch. */
  readonly now: number;
  /** All DisruptionPolicies; the one that applies to the NodePool is found here. */
  readonly policies?: readonly DisruptionPolicy[] | undefined;
  /** Past disruptions of all NodePools, for rates and quotas. */
  readonly pastDisruptions?: readonly PastDisruption[] | undefined;
}

const never = Number.POSITIVE_INFINITY;
/** If nothing is allowed now, how far ahead to search for the next opening. */
const lookAheadMs = 35 * 24 * 3_600_000;
const mostChanges = 64;

/**
 * How many nodes of a NodePool may be disrupted now for a reason: the NodePool's budgets (budgets/allowed-now), and the
 * maintenance windows, quotas and rates of the DisruptionPolicy that applies to it. Budgets cannot name `Expired`; it
 * is bounded by budgets without reasons. `Unhealthy` is bounded by no budget (budgets/reasons, repair/forced), and by
 * windows and rates only if they name it: an unhealthy node should not wait for limits meant for healthy ones. If
 * nothing is allowed, `changesAt` is when that changes by time alone; it is absent if something has to happen first.
 * All voluntary disruptions use this. Do not call it in workflow code, because time zone tables differ between releases
 * of Node.
 */
export function limitOf(
  pool: NodePool | undefined,
  reason: DisruptionReason,
  count: PoolCount,
  { now, policies, pastDisruptions = [] }: LimitsContext,
): Allowance {
  const name = pool?.metadata.name ?? '';
  const asked: LimitQuery = {
    pool,
    reason,
    count,
    effective: effectivePolicyOf(pool, policies),
    pastDisruptions: pastDisruptions.filter(({ nodePool }) => nodePool === name),
  };
  const present = boundsOf(asked, now);
  const allowed = Math.min(...present.map((bound) => bound.allowed));
  const changesAt = allowed > 0 ? Math.min(...present.map((bound) => bound.changesAt)) : opensAt(asked, present, now);
  const ruledBy = present.filter((bound) => bound.allowed === allowed && bound.what !== '').map(({ what }) => what);
  return {
    allowed,
    ...(ruledBy.length === 0 ? {} : { ruledBy: ruledBy.join('; ') }),
    ...(Number.isFinite(changesAt) ? { changesAt } : {}),
  };
}

interface LimitQuery {
  readonly pool: NodePool | undefined;
  readonly reason: DisruptionReason;
  readonly count: PoolCount;
  readonly effective: EffectivePolicy;
  readonly pastDisruptions: readonly PastDisruption[];
}

/** Steps from one change of the blocking limits to the next, until nothing blocks. */
function opensAt(asked: LimitQuery, present: readonly Bound[], now: number): number {
  let closed = present.filter(({ allowed }) => allowed === 0);
  for (let i = 0, at = now; i < mostChanges && at <= now + lookAheadMs; i++) {
    at = Math.max(...closed.map(({ changesAt }) => changesAt));
    if (at === never) return never;
    closed = boundsOf(asked, at).filter(({ allowed }) => allowed === 0);
    if (closed.length === 0) return at;
  }
  return never;
}

function boundsOf({ pool, reason, count, effective, pastDisruptions }: LimitQuery, now: number): readonly Bound[] {
  if (reason === 'Unhealthy') return repairBounds(effective, { pastDisruptions, total: count.total }, now);
  if (effective.invalid !== undefined) return [{ allowed: 0, what: effective.invalid, changesAt: never }];
  const counted = { pastDisruptions, total: count.total };
  return [
    windowBound(effective.spec.maintenanceWindows, reason, counted, now),
    rateBound(effective.spec.rates, reason, counted, now),
    ...budgetBounds(pool?.spec.disruption.budgets, reason, count, now),
    { allowed: Math.max(0, count.total - count.disrupting), what: '', changesAt: never },
  ];
}

function repairBounds(
  { spec, invalid }: EffectivePolicy,
  counted: { readonly pastDisruptions: readonly PastDisruption[]; readonly total: number },
  now: number,
): readonly Bound[] {
  const naming = <T extends { readonly reasons?: readonly DisruptionReason[] | undefined }>(
    rules: readonly T[] | undefined,
  ): readonly T[] =>
    invalid === undefined ? (rules ?? []).filter(({ reasons }) => reasons?.includes('Unhealthy')) : [];
  return [
    windowBound(naming(spec.maintenanceWindows), 'Unhealthy', counted, now),
    rateBound(naming(spec.rates), 'Unhealthy', counted, now),
  ];
}

/**
 * For how long the past disruptions of a NodePool must be remembered, milliseconds: its longest rate, or window with a
 * quota. Infinity if the policy is invalid, since its limits after a correction are not known.
 */
export function rememberedForMs({ spec, invalid }: Pick<EffectivePolicy, 'spec' | 'invalid'>): number {
  if (invalid !== undefined) return Number.POSITIVE_INFINITY;
  const rates = (spec.rates ?? []).map(({ per }) => parseDuration(per, 'per'));
  const quotas = (spec.maintenanceWindows ?? []).filter(({ quota }) => quota !== undefined);
  return Math.max(0, ...rates, ...quotas.map(({ duration }) => parseDuration(duration, 'duration')));
}

interface WindowState {
  readonly window: MaintenanceWindow;
  readonly schedule: Schedule | undefined;
  readonly opening: Opening | undefined;
  /** The next time of the schedule, which begins a new period even if one is open. */
  readonly opensAt: number | undefined;
}

function stateOf(window: MaintenanceWindow, now: number): WindowState {
  const schedule = readSchedule(window.schedule, window.timeZone);
  if (schedule === undefined) return { window, schedule, opening: undefined, opensAt: undefined };
  const opening = openingAt(schedule, parseDuration(window.duration, 'duration'), now);
  return { window, schedule, opening, opensAt: schedule.next(now) };
}

function windowsFor(
  windows: readonly MaintenanceWindow[] | undefined,
  reason: DisruptionReason,
): readonly MaintenanceWindow[] {
  return (windows ?? []).filter(({ reasons }) => names(reasons, reason));
}

/**
 * The limit of maintenance windows for a NodePool with `total` nodes. Reasons that no window names have no limit; all
 * others wait for an open window. Each time of the schedule begins a new period, and the quota of every open window
 * applies: it counts the disruptions since then for the reasons of the window.
 */
function windowBound(
  windows: readonly MaintenanceWindow[] | undefined,
  reason: DisruptionReason,
  { pastDisruptions, total }: { readonly pastDisruptions: readonly PastDisruption[]; readonly total: number },
  now: number,
): Bound {
  const looked = windowsFor(windows, reason).map((window) => stateOf(window, now));
  if (looked.length === 0) return { allowed: Number.POSITIVE_INFINITY, what: '', changesAt: Number.POSITIVE_INFINITY };
  const hopeless = looked.every(({ window: { quota } }) => quota !== undefined && nodesOf(quota, total) === 0);
  const changesAt = hopeless
    ? Number.POSITIVE_INFINITY
    : Math.min(...looked.flatMap(({ opening, opensAt }) => [opening?.to, opensAt].filter((at) => at !== undefined)));
  const open = looked.filter((one) => one.opening !== undefined);
  if (open.length === 0) {
    const all = looked.map(({ window }) => window.name).join(', ');
    return { allowed: 0, what: `maintenance window ${all} (closed)`, changesAt };
  }
  let allowed = Number.POSITIVE_INFINITY;
  let what = `maintenance window ${open.map(({ window }) => window.name).join(', ')}`;
  for (const { window, opening } of open) {
    if (window.quota === undefined) continue;
    const used = disruptedSince(pastDisruptions, opening!.from, window.reasons);
    const left = Math.max(0, nodesOf(window.quota, total) - used);
    if (left >= allowed) continue;
    allowed = left;
    what = `quota ${window.quota} of maintenance window ${window.name} (${used} used)`;
  }
  return { allowed, what, changesAt };
}

/**
 * What rates allow for a NodePool with `total` nodes: at most `nodes` in any period of length `per`. Only the period
 * that ends now matters, since no disruption lies after it.
 */
function rateBound(
  rates: readonly DisruptionRate[] | undefined,
  reason: DisruptionReason,
  { pastDisruptions, total }: { readonly pastDisruptions: readonly PastDisruption[]; readonly total: number },
  now: number,
): Bound {
  let tightest: Bound = { allowed: Number.POSITIVE_INFINITY, what: '', changesAt: Number.POSITIVE_INFINITY };
  for (const rate of rates ?? []) {
    if (!names(rate.reasons, reason)) continue;
    const bound = boundOf(rate, pastDisruptions, total, now);
    const later = bound.allowed === 0 && tightest.allowed === 0 && bound.changesAt > tightest.changesAt;
    if (bound.allowed < tightest.allowed || later) tightest = bound;
  }
  return tightest;
}

function boundOf(rate: DisruptionRate, pastDisruptions: readonly PastDisruption[], total: number, now: number): Bound {
  const per = parseDuration(rate.per, 'per');
  // A disruption exactly `per` ago is outside of that period.
  const used = disruptedSince(pastDisruptions, now - per + 1, rate.reasons);
  return {
    allowed: Math.max(0, nodesOf(rate.nodes, total) - used),
    what: `rate ${rate.nodes} in ${rate.per} (${used} used)`,
    changesAt: roomAt(rate, pastDisruptions, { per, total, used }, now),
  };
}

/** When enough past disruptions have left the period for one more. */
function roomAt(
  { nodes, reasons }: DisruptionRate,
  pastDisruptions: readonly PastDisruption[],
  { per, total, used }: { per: number; total: number; used: number },
  now: number,
): number {
  const limit = nodesOf(nodes, total);
  if (limit === 0) return Number.POSITIVE_INFINITY;
  let left = used;
  const counted = pastDisruptions.filter(({ at, reason }) => at > now - per && names(reasons, reason));
  for (const { at, nodes: began } of counted.sort((a, b) => a.at - b.at)) {
    left -= began;
    if (left < limit) return at + per;
  }
  return Number.POSITIVE_INFINITY;
}

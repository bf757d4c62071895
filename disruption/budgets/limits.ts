import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { budgetBounds } from './budgets.js';
import type { Allowance, PoolCount } from './budgets.js';
import type { Bound, PastDisruption } from './limits/past-disruptions.js';
import { rateBound } from './limits/rates.js';
import { windowBound } from './limits/windows.js';
import { effectivePolicyOf } from '../policies/effective-policy.js';
import type { EffectivePolicy } from '../policies/effective-policy.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';

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

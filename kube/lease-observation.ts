import type { Lease } from '../api/kubernetes.js';

/** The state of another process's lease, from successive observations. */
export interface LeaseObservation {
  /**
   * `unknown`: it is not known yet whether the holder is alive. Callers that must not act concurrently with it wait
   * then too.
   */
  readonly state: 'unknown' | 'held' | 'free';
  /** Who holds or held it; set with `held`. */
  readonly holder?: string;
  /** `renewTime` at the last observation; empty if there was no holder; absent after a failed observation. */
  readonly seen?: string;
  /** When an observation found it renewed since the previous one, by the local clock, milliseconds since the epoch. */
  readonly renewedAt?: number;
}

/** Before the first observation. */
export const unobserved: LeaseObservation = { state: 'unknown' };

/** Maximum clock skew. A `renewTime` further in the future is not valid. */
const clockSkewMs = 5000;
/** Default lease duration of leaders, as in Karpenter. */
const usualDurationSeconds = 15;
/** Four times Karpenter's. A longer duration in the lease does not count. */
const longestDurationSeconds = 60;

/**
 * One more observation: `lease` was read at `now` (milliseconds since the epoch). A lease is held until its duration
 * has passed since its last renewal: by its `renewTime` if that is plausible, or by the local clock if it changed
 * between two observations. So clocks may differ, and a `renewTime` that was written once, such as one in the year
 * 2099, does not hold the lease.
 */
export function observed(before: LeaseObservation, lease: Lease | undefined, now: number): LeaseObservation {
  const { holderIdentity: holder = '', renewTime = 'never' } = lease?.spec ?? {};
  if (holder === '') return vacant(before);
  const isRenewed = before.seen !== undefined && before.seen !== '' && before.seen !== renewTime;
  const renewedAt = isRenewed ? now : before.renewedAt;
  const since = Math.max(renewedAt ?? -Infinity, plausible(renewTime, now));
  const next = { seen: renewTime, ...(renewedAt === undefined ? {} : { renewedAt }) };
  if (now < since + durationMs(lease)) return { ...next, state: 'held', holder };
  // A single observation of a seemingly expired lease does not show whether its holder's clock is wrong. The next one
  // does.
  if (before.seen === undefined || before.seen === '') return { ...before, ...next };
  return { ...next, state: 'free' };
}

/** A failed observation: the state stays, and no changes are assumed. */
export function notObserved({ state, holder }: LeaseObservation): LeaseObservation {
  return { state, ...(holder === undefined ? {} : { holder }) };
}

/**
 * A leader that stops releases the lease for the next replica, which takes it within seconds: one observation is not
 * enough.
 */
function vacant(before: LeaseObservation): LeaseObservation {
  const isHandedOver = before.state === 'held' && before.seen !== '';
  return isHandedOver ? { ...notObserved(before), seen: '' } : { state: 'free', seen: '' };
}

function plausible(renewTime: string, now: number): number {
  const at = Date.parse(renewTime);
  return at <= now + clockSkewMs ? at : -Infinity;
}

function durationMs(lease: Lease | undefined): number {
  return Math.min(lease?.spec?.leaseDurationSeconds ?? usualDurationSeconds, longestDurationSeconds) * 1000;
}

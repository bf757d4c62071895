import type { Lease } from '../api/kubernetes.js';

/** What successive looks at somebody else's lease tell of its holder. */
export interface LeaseObservation {
  /** `unknown`: nothing has told yet whether the holder lives. Who must not act beside it waits then as well. */
  readonly state: 'unknown' | 'held' | 'free';
  /** Who holds or held it; set with `held`. */
  readonly holder?: string;
  /** `renewTime` as of the last look; empty where nobody held it; absent after a look that failed. */
  readonly seen?: string;
  /** When a look found it renewed since the one before, by the own clock, milliseconds of the epoch. */
  readonly renewedAt?: number;
}

/** Before the first look. */
export const unobserved: LeaseObservation = { state: 'unknown' };

/** How far the holder's clock may be ahead of ours. A time beyond is no time of a renewal. */
const clockSkewMs = 5000;
/** What leaders take that are not told otherwise, as Karpenter is not. */
const usualDurationSeconds = 15;
/** Four times Karpenter's: whoever writes an hour must renew it like everybody else. */
const longestDurationSeconds = 60;

/**
 * One more look, which found `lease` at `now` (milliseconds of the epoch). A lease is held until its duration has passed
 * since its last renewal: by its own time if that is plausible, or by our clock if we saw it change between two looks.
 * So clocks may differ, and a time that somebody wrote once, such as one in the year 2099, holds nothing.
 */
export function observed(before: LeaseObservation, lease: Lease | undefined, now: number): LeaseObservation {
  const { holderIdentity: holder = '', renewTime = 'never' } = lease?.spec ?? {};
  if (holder === '') return vacant(before);
  const isRenewed = before.seen !== undefined && before.seen !== '' && before.seen !== renewTime;
  const renewedAt = isRenewed ? now : before.renewedAt;
  const since = Math.max(renewedAt ?? -Infinity, plausible(renewTime, now));
  const next = { seen: renewTime, ...(renewedAt === undefined ? {} : { renewedAt }) };
  if (now < since + durationMs(lease)) return { ...next, state: 'held', holder };
  // One look at a lease that seems dead does not tell whether its holder's clock is wrong. The next one does.
  if (before.seen === undefined || before.seen === '') return { ...before, ...next };
  return { ...next, state: 'free' };
}

/** A look that failed: the verdict stands, and what may have happened meanwhile is not guessed at. */
export function notObserved({ state, holder }: LeaseObservation): LeaseObservation {
  return { state, ...(holder === undefined ? {} : { holder }) };
}

/** A leader that ends releases the lease for the next replica, which takes it within seconds: one look is not enough. */
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

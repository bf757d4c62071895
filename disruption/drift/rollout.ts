import type { DriftRollout } from '../../api/stowage/disruption-policy.js';
import { nodesOf } from '../budgets/limits/past-disruptions.js';

/** The outcomes of the nodes of a rollout so far. */
interface RolloutTally {
  readonly replaced: number;
  readonly failed: number;
}

/**
 * Size of the next wave: first the canary, then `growthFactor` times the previous one, at most `maximumWave` of the
 * pool's current nodes, and at least one.
 */
export function waveSize(
  { canary, growthFactor, maximumWave }: Pick<DriftRollout, 'canary' | 'growthFactor' | 'maximumWave'>,
  { last, total }: { readonly last: number | undefined; readonly total: number },
): number {
  const wanted = last === undefined ? nodesOf(canary, total) : last * growthFactor;
  return Math.max(1, Math.min(wanted, nodesOf(maximumWave, total)));
}

/** Whether more of the rollout's nodes failed than the policy tolerates. */
export function isStopped(
  { maximumFailurePercent }: Pick<DriftRollout, 'maximumFailurePercent'>,
  { replaced, failed }: RolloutTally,
): boolean {
  return failed * 100 > maximumFailurePercent * (replaced + failed);
}

const firstBackOffMs = 60_000;
const longestBackOffMs = 3_600_000;

/**
 * Back-off of a pool after `failures` consecutive attempts that replaced nothing: doubling from a minute to an hour.
 */
export function waveBackOffMs(failures: number): number {
  return failures <= 0 ? 0 : Math.min(longestBackOffMs, firstBackOffMs * 2 ** (failures - 1));
}

const firstPollMs = 10_000;
const longestPollMs = 5 * 60_000;

/**
 * Time until drifted nodes are checked again, after `polls` consecutive checks in which none could be disrupted: first
 * Karpenter's 10 s, since most blockers pass when a pod moves; doubling to five minutes, since some never pass.
 */
export function pollAfterMs(polls: number): number {
  return Math.min(longestPollMs, firstPollMs * 2 ** Math.max(0, polls - 1));
}

import type { DriftRollout } from '../../api/stowage/disruption-policy.js';
import { nodesOf } from '../budgets/limits/past-disruptions.js';

/** What became of the nodes of a rollout so far. */
export interface RolloutTally {
  readonly replaced: number;
  readonly failed: number;
}

/**
 * How many nodes the next wave takes: the canary first, then `growthFactor` times the last one, at most `maximumWave` of the
 * pool's nodes, which are counted anew each time, and at least one.
 */
export function waveSize(
  { canary, growthFactor, maximumWave }: Pick<DriftRollout, 'canary' | 'growthFactor' | 'maximumWave'>,
  { last, total }: { readonly last: number | undefined; readonly total: number },
): number {
  const wanted = last === undefined ? nodesOf(canary, total) : last * growthFactor;
  return Math.max(1, Math.min(wanted, nodesOf(maximumWave, total)));
}

/** Whether more of the rollout's nodes failed than the policy bears. */
export function isStopped(
  { maximumFailurePercent }: Pick<DriftRollout, 'maximumFailurePercent'>,
  { replaced, failed }: RolloutTally,
): boolean {
  return failed * 100 > maximumFailurePercent * (replaced + failed);
}

const firstBackOffMs = 60_000;
const longestBackOffMs = 3_600_000;

/** How long a pool waits after `failures` attempts in a row that replaced nothing: doubling from a minute to an hour. */
export function waveBackOffMs(failures: number): number {
  return failures <= 0 ? 0 : Math.min(longestBackOffMs, firstBackOffMs * 2 ** (failures - 1));
}

const firstPollMs = 10_000;
const longestPollMs = 5 * 60_000;

/**
 * How long until drifted nodes are checked again, after `polls` in a row in which none could be disrupted: Karpenter's 10 s first, since
 * most blockers pass when a pod moves; doubling to five minutes, since some never pass.
 */
export function pollAfterMs(polls: number): number {
  return Math.min(longestPollMs, firstPollMs * 2 ** Math.max(0, polls - 1));
}

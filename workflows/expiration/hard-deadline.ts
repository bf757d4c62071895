import type { ExpirationView } from '../../activities/expiration/contract.js';
import { workflowNow } from '../clock.js';

/** When the node is removed without a replacement; absent if the policy has no hard deadline. */
type HardDeadline = Pick<Extract<ExpirationView, { state: 'live' }>, 'mustGoAt'>;

/** Time until the hard deadline, milliseconds, at least 1; unlimited if there is none. */
export function untilHardDeadlineMs({ mustGoAt }: HardDeadline): number {
  return mustGoAt === undefined ? Number.MAX_SAFE_INTEGER : Math.max(1, mustGoAt - workflowNow());
}

export function isPastHardDeadline({ mustGoAt }: HardDeadline): boolean {
  return mustGoAt !== undefined && mustGoAt <= workflowNow();
}

import { isDomainError } from '../core/failures.js';

/**
 * Whether the API server has answered, and the answer will be the same until a person changes something: an admission
 * policy, a quota, a rule of the CRD, an admission webhook that cannot be called (500). Everything else is an outage:
 * the activity fails and is tried again.
 */
export function isRefusal(error: unknown): error is Error {
  if (!isDomainError(error)) return false;
  const { status } = error.details;
  if (error.type === 'Denied') return status === 403;
  return ['Invalid', 'Conflict', 'NotFound'].includes(error.type) || status === 500;
}

/** As `isRefusal`, but without conflicts, after which the write is repeated. */
export const isRefusedWrite = (error: unknown): error is Error => isRefusal(error) && !isDomainError(error, 'Conflict');

import { isGrpcServiceError } from '@temporalio/client';
import { messageOf } from '../../core/error-message.js';

/** Codes of gRPC for a server that is not there, or does not answer in time. */
const away: ReadonlySet<number> = new Set([4, 14]);

/** Why Temporal did not say what runs: a server that refuses a call, such as a query, can be reached. */
export function whyUnobserved(error: unknown): string {
  const causes = [error, error instanceof Error ? error.cause : undefined];
  const refused = causes.some((each) => isGrpcServiceError(each) && !away.has(each.code));
  return `${refused ? 'it refuses a call' : 'it cannot be reached'}: ${messageOf(error)}`;
}

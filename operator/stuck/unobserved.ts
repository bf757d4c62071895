import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { messageOf } from '../../core/error-message.js';

/** Codes of gRPC with which a server refuses a call. Others, such as INTERNAL, also come from connections that break. */
const refusals: ReadonlySet<number> = new Set([
  3, // INVALID_ARGUMENT
  5, // NOT_FOUND
  7, // PERMISSION_DENIED
  8, // RESOURCE_EXHAUSTED
  9, // FAILED_PRECONDITION
  12, // UNIMPLEMENTED
  16, // UNAUTHENTICATED
]);

/** Whether Temporal answered, with a refusal. For a namespace that is not there its client throws an error of its own, without the code. */
function isRefusedByTemporal(error: unknown): boolean {
  const causes = [error, error instanceof Error ? error.cause : undefined];
  return causes.some(
    (each) => each instanceof NamespaceNotFoundError || (isGrpcServiceError(each) && refusals.has(each.code)),
  );
}

/** Why Temporal did not say what runs: a server that refuses a call, such as a query, can be reached. */
export function whyUnobserved(error: unknown): string {
  return `${isRefusedByTemporal(error) ? 'it refuses a call' : 'it cannot be reached'}: ${messageOf(error)}`;
}

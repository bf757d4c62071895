import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';

/** Codes of gRPC: NOT_FOUND. */
const missing: ReadonlySet<number> = new Set([5]);
const answerMs = 5000;

/**
 * Why the namespace is none to work in, for a person; undefined where it is there, and where the server does not say: an account may not be allowed to ask,
 * and whether the server answers is looked at elsewhere.
 */
export async function namespaceProblem(
  { connection, workflowService }: Pick<Client, 'connection' | 'workflowService'>,
  namespace: string,
): Promise<string | undefined> {
  try {
    await connection.withDeadline(Date.now() + answerMs, () => workflowService.describeNamespace({ namespace }));
    return undefined;
  } catch (error) {
    if (!isGrpcServiceError(error) || !missing.has(error.code)) return undefined;
    return `Temporal has no namespace ${namespace}: create it (temporal operator namespace create -n ${namespace}) or set TEMPORAL_NAMESPACE to another`;
  }
}

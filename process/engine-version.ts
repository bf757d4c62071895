import { setTimeout as delay } from 'node:timers/promises';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { messageOf } from '../core/error-message.js';
import type { Log } from '../core/telemetry.js';
import { isOlder, versionIn } from '../core/versions.js';

/** The first version with updates, which orders use, enabled by default. */
export const oldestTemporal = '1.25.0';

const pollMs = 10_000;

/**
 * Why Stowage does not support a server of this version, as text for people. A version that cannot be compared counts
 * as supported.
 *
 * @testOnly
 */
export function tooOld(version: string): string | undefined {
  const found = versionIn(version);
  if (found === undefined || !isOlder(found, oldestTemporal)) return undefined;
  return `Temporal is version ${version}: ${oldestTemporal} or newer is needed`;
}

interface EngineWait {
  readonly namespace: string;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Called with the problem of the server, undefined for none. */
  readonly onProblem: (problem: string | undefined) => void;
  readonly everyMs?: number;
}

/**
 * Resolves once the server is new enough and has the namespace. Nothing starts before, since features missing in an
 * older server would fail in the middle of a workflow. Rejects when `signal` aborts.
 */
export async function usableEngine(
  client: Pick<Client, 'connection' | 'workflowService'>,
  { namespace, log, onProblem, everyMs = pollMs }: EngineWait,
  signal: AbortSignal,
): Promise<void> {
  let reported: string | undefined;
  for (;;) {
    const problem = await client.workflowService
      .getSystemInfo({})
      .then(({ serverVersion }) => tooOld(serverVersion) ?? namespaceProblem(client, namespace))
      .catch((error: unknown) => `Temporal does not say which version it is: ${messageOf(error)}`);
    onProblem(problem);
    if (problem === undefined) return;
    if (problem !== reported) log.error({ problem }, 'nothing is done');
    reported = problem;
    await delay(everyMs, undefined, { signal });
  }
}

/** gRPC code NOT_FOUND. */
const missing: ReadonlySet<number> = new Set([5]);
const answerMs = 5000;

/**
 * Why the namespace cannot be used, as text for people. Undefined if it exists, and if that is unknown: the account may
 * lack permission, and `watchTemporal` reports an unreachable server.
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

import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { messageOf } from '../core/error-message.js';
import type { Log } from '../core/telemetry.js';
import { namespaceProblem } from './namespace-problem.js';
import { isOlder, versionIn } from '../core/versions.js';

/** The first that takes updates, by which orders are answered, without being told to. */
export const oldestTemporal = '1.25.0';

const pollMs = 10_000;

/**
 * Why Stowage does not work with a server of this version, for a person. One that cannot be compared is taken for new enough.
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
  /** Hears what is wrong with the server, undefined for nothing. */
  readonly onProblem: (problem: string | undefined) => void;
  readonly everyMs?: number;
}

/**
 * Resolves once the server is new enough, as after its upgrade, and has the namespace: nothing is done before, for what an older one lacks would show in
 * the middle of a workflow. Rejects when `signal` aborts.
 */
export async function usableEngine(
  client: Pick<Client, 'connection' | 'workflowService'>,
  { namespace, log, onProblem, everyMs = pollMs }: EngineWait,
  signal: AbortSignal,
): Promise<void> {
  let told: string | undefined;
  for (;;) {
    const problem = await client.workflowService
      .getSystemInfo({})
      .then(({ serverVersion }) => tooOld(serverVersion) ?? namespaceProblem(client, namespace))
      .catch((error: unknown) => `Temporal does not say which version it is: ${messageOf(error)}`);
    onProblem(problem);
    if (problem === undefined) return;
    if (problem !== told) log.error({ problem }, 'nothing is done');
    told = problem;
    await delay(everyMs, undefined, { signal });
  }
}

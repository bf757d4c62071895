import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { WorkflowNotFoundError, WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { onOneLine } from '../core/text.js';
import { timeText } from '../core/time.js';
import { TemporalClusterIdentityStore, type ClusterIdentityStore } from '../process/cluster-identity.js';
import type { Settings } from '../process/settings.js';
import { searchAttributes } from '../workflows/messages.js';
import { UsageError } from './exit.js';
import { liveSettings, withClient } from './live.js';
import { givenFlags } from './settings-command.js';

/** Timeout of updates, which workers answer: after this no worker seems to run. */
const answerTimeoutMs = 15_000;

/** The target of commands that send orders. */
export interface TemporalTarget {
  readonly settings: Settings;
  readonly client: Client;
  readonly cluster: string;
  readonly register: ClusterIdentityStore;
}

/** Connects with the settings of `command`, and disconnects when `work` is done. */
export async function withTemporal<T>(command: Command, work: (target: TemporalTarget) => Promise<T>): Promise<T> {
  const settings = liveSettings(givenFlags(command));
  const { CLUSTER_NAME: cluster } = settings;
  return withClient(settings, (client) =>
    work({ settings, client, cluster, register: new TemporalClusterIdentityStore(client, cluster) }),
  );
}

/** The actor of an order, unless `--as` gives another name. */
export function defaultActor(): string {
  return `${userInfo().username}@${hostname()}`;
}

/** A workflow refused an order: `type` is one of `refusals`. */
export class RefusedError extends UsageError {
  constructor(
    readonly type: string,
    message: string,
  ) {
    super(onOneLine(message));
  }
}

/** Runs one request to a workflow; converts its refusal to a message for users. */
export async function ordered<T>(
  { client, cluster }: Pick<TemporalTarget, 'client' | 'cluster'>,
  workflowId: string,
  request: () => Promise<T>,
): Promise<T> {
  try {
    return await client.connection.withDeadline(Date.now() + answerTimeoutMs, request);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      throw new UsageError(`${workflowId}: no such workflow is running${await howItEnded(client, workflowId)}`);
    }
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
      throw new RefusedError(error.cause.type ?? 'no type', `${workflowId} refused: ${error.cause.message}`);
    }
    if (isTimeout(error)) {
      throw new UsageError(
        `${workflowId} did not answer within ${answerTimeoutMs / 1000} seconds: no worker of cluster ${cluster} seems to run. ` +
          'With --no-wait the order is kept until one does.',
      );
    }
    throw error;
  }
}

/** Explains how a workflow ended, if the order was too late or repeated. */
async function howItEnded(client: TemporalTarget['client'], workflowId: string): Promise<string> {
  try {
    const deadline = Date.now() + answerTimeoutMs;
    const { closeTime, typedSearchAttributes: attributes } = await client.connection.withDeadline(deadline, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    if (closeTime === undefined) return '';
    const phase = attributes.get(searchAttributes.phase);
    return `: it ended at ${timeText(closeTime.getTime())}${phase === undefined ? '' : ` (${phase})`}`;
  } catch {
    return ' (stowage status shows what is under way)';
  }
}

function isTimeout(error: unknown): boolean {
  const text = [error, (error as { cause?: unknown } | undefined)?.cause].map(String).join(' ');
  return /DEADLINE_EXCEEDED|deadline|timed? ?out|UpdateRPCTimeout/i.test(text);
}

import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { ForeignWorkflow } from '../foreign-workflow.js';
import type { FailingLoop } from './leader-loops.js';
import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { messageOf } from '../../core/error-message.js';

/** An activity of an open workflow, as described by Temporal. Times are milliseconds since the epoch. */
export interface ObservedActivity {
  readonly type: string;
  /** Starting at 1. */
  readonly attempt: number;
  /** When it was first scheduled; absent if not in the end of the history. */
  readonly since?: number;
  /** When its next attempt is or was scheduled; absent while it runs. */
  readonly dueAt?: number;
  /** When the running attempt started; absent if none runs. */
  readonly runningSince?: number;
  /** Why the previous attempt failed. */
  readonly failure?: string;
}

/** The pending workflow task of an open workflow. */
export interface ObservedTask {
  /** Starting at 1; more means that the previous attempt failed. */
  readonly attempt: number;
  /** Milliseconds since the epoch. */
  readonly scheduledAt: number;
  readonly isStarted: boolean;
  /** When the first attempt failed, milliseconds since the epoch, and why the last did. */
  readonly failingSince?: number;
  readonly failure?: string;
  /** Whether its code does not do what its history says: no later attempt of these workers succeeds. */
  readonly isDiverged?: boolean;
}

/** A workflow's report of the failures that it retries. */
export interface ObservedFailing {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly why: string;
}

export interface ObservedWorkflow {
  readonly workflowId: string;
  readonly type: string;
  readonly historyEvents: number;
  readonly historyBytes: number;
  readonly task?: ObservedTask;
  readonly activities: readonly ObservedActivity[];
  readonly failing?: ObservedFailing;
  /** Objects that it cannot read, and why, as text for people. */
  readonly leftOut?: string;
}

/** One task queue and kind of task. */
export interface ObservedQueue {
  readonly name: string;
  readonly tasks: 'workflow' | 'activity';
  /** When a worker of the current build last polled, milliseconds since the epoch; absent if Temporal knows of none. */
  readonly polledAt?: number;
  /** The current build, empty for unversioned workers; absent if there is none. */
  readonly build?: string;
  /** Approximate number of waiting tasks. */
  readonly backlog: number;
  /** Age of the oldest one, milliseconds. */
  readonly backlogAgeMs: number;
}

/** A workflow whose last run failed. */
export interface ObservedFailure {
  readonly workflowId: string;
  /** When the first of the reported runs failed, milliseconds since the epoch. */
  readonly since: number;
  /** Number of failed runs since. */
  readonly runs: number;
  readonly why: string;
}

export interface ObservedEngine {
  /** Entity workflows, those that report failures, and the oldest others. */
  readonly workflows: readonly ObservedWorkflow[];
  /** Ids of entity workflows that do not run. */
  readonly missing: readonly string[];
  /** Workflows of other applications with an id of Stowage. */
  readonly foreign: readonly ForeignWorkflow[];
  readonly queues: readonly ObservedQueue[];
  readonly failed: readonly ObservedFailure[];
}

/** Input of findings. */
export interface Observed {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Undefined while Temporal does not respond. */
  readonly engine: ObservedEngine | undefined;
  /** Why it does not respond. */
  readonly unreachable?: string;
  readonly loops: readonly FailingLoop[];
  readonly pods: readonly Pod[];
  readonly pools: readonly NodePool[];
}

/** gRPC codes with which a server refuses a call. Others, such as INTERNAL, also result from broken connections. */
const refusals: ReadonlySet<number> = new Set([
  3, // INVALID_ARGUMENT
  5, // NOT_FOUND
  7, // PERMISSION_DENIED
  8, // RESOURCE_EXHAUSTED
  9, // FAILED_PRECONDITION
  12, // UNIMPLEMENTED
  16, // UNAUTHENTICATED
]);

/** Whether Temporal responded with a refusal. For a missing namespace its client throws an error without a code. */
function isRefusedByTemporal(error: unknown): boolean {
  const causes = [error, error instanceof Error ? error.cause : undefined];
  return causes.some(
    (each) => each instanceof NamespaceNotFoundError || (isGrpcServiceError(each) && refusals.has(each.code)),
  );
}

/** Why the workflows could not be read: a server that refuses a call, such as a query, is reachable. */
export function whyUnobserved(error: unknown): string {
  return `${isRefusedByTemporal(error) ? 'it refuses a call' : 'it cannot be reached'}: ${messageOf(error)}`;
}

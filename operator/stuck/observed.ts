import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { ForeignWorkflow } from '../foreign-workflow.js';
import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { messageOf } from '../../core/error-message.js';

/** An activity of an open workflow, as Temporal describes it. Times are milliseconds of the epoch. */
export interface ObservedActivity {
  readonly type: string;
  /** From 1. */
  readonly attempt: number;
  /** When it was first scheduled; absent when the end of the history does not tell. */
  readonly since?: number;
  /** When its next attempt is, or was, to begin; absent while it runs. */
  readonly dueAt?: number;
  /** When the attempt that runs began; absent while none runs. */
  readonly runningSince?: number;
  /** Why the attempt before failed. */
  readonly failure?: string;
}

/** The workflow task that an open workflow waits for. */
export interface ObservedTask {
  /** From 1: more than one means that the one before failed. */
  readonly attempt: number;
  /** Milliseconds of the epoch. */
  readonly scheduledAt: number;
  readonly isStarted: boolean;
  /** When the first of its attempts failed, milliseconds of the epoch, and why the last did. */
  readonly failingSince?: number;
  readonly failure?: string;
}

/** What a workflow says of its own failures while it tries again. */
export interface ObservedFailing {
  /** Milliseconds of the epoch. */
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
  /** Objects that it cannot work with, and why, for a person. */
  readonly leftOut?: string;
}

/** One task queue and kind of task. */
export interface ObservedQueue {
  readonly name: string;
  readonly tasks: 'workflow' | 'activity';
  /** When a worker of the current build asked for a task last, milliseconds of the epoch; absent when Temporal knows of none. */
  readonly polledAt?: number;
  /** The current build, empty for workers without a version; absent where none has one. */
  readonly build?: string;
  /** Tasks that wait, about. */
  readonly backlog: number;
  /** For how long the oldest of them has waited, milliseconds. */
  readonly backlogAgeMs: number;
}

/** A workflow whose last run failed. */
export interface ObservedFailure {
  readonly workflowId: string;
  /** When the first of its runs failed that is told of, milliseconds of the epoch. */
  readonly since: number;
  /** How many runs failed since. */
  readonly runs: number;
  readonly why: string;
}

export interface ObservedEngine {
  /** The entities, those that say that they fail, and the oldest others. */
  readonly workflows: readonly ObservedWorkflow[];
  /** Ids of entities that do not run. */
  readonly missing: readonly string[];
  /** Workflows of others that have an id of ours. */
  readonly foreign: readonly ForeignWorkflow[];
  readonly queues: readonly ObservedQueue[];
  readonly failed: readonly ObservedFailure[];
}

/** What a finding can be about. */
export interface Observed {
  /** Milliseconds of the epoch. */
  readonly now: number;
  /** Undefined while Temporal does not answer. */
  readonly engine: ObservedEngine | undefined;
  /** Why it does not. */
  readonly unreachable?: string;
  readonly pods: readonly Pod[];
  readonly pools: readonly NodePool[];
}

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

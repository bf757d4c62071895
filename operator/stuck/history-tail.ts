import proto from '@temporalio/proto';
import type { Client } from '@temporalio/client';
import { millisecondsOf } from '../../core/time.js';
import type { ObservedTask } from './observed.js';

/** The SDK's types of the responses. */
type Reversed = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistoryReverse']>>;
export type TailEvent = NonNullable<NonNullable<Reversed['history']>['events']>[number];
type Failure = NonNullable<TailEvent['workflowTaskFailedEventAttributes']>['failure'];

/** Failures in the last events of a history. Times are milliseconds since the epoch. */
export interface HistoryTail {
  /** By activity id. */
  readonly activitiesScheduledAt: ReadonlyMap<string, number>;
  /** Failures of workflow tasks since the last successful one. */
  readonly taskFailures: Pick<ObservedTask, 'failingSince' | 'failure' | 'isDiverged'>;
  /** Why the run failed, if it did. */
  readonly failure?: string;
}

const eventsRead = 100;

const { WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR: nondeterministic } =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause;

/** Reads the end of a run's history. */
export async function tailOf(client: Client, workflowId: string, runId: string): Promise<HistoryTail> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: eventsRead,
  });
  return readTail(history?.events ?? []);
}

/** From events in reverse order. */
export function readTail(events: readonly TailEvent[]): HistoryTail {
  const activitiesScheduledAt = new Map<string, number>();
  for (const { activityTaskScheduledEventAttributes: scheduled, eventTime } of events) {
    const at = millisecondsOf(eventTime);
    const id = scheduled?.activityId;
    if (typeof id === 'string' && at !== undefined) activitiesScheduledAt.set(id, at);
  }
  const failure = rootMessage(events[0]?.workflowExecutionFailedEventAttributes?.failure);
  return {
    activitiesScheduledAt,
    taskFailures: taskFailures(events),
    ...(failure === undefined ? {} : { failure }),
  };
}

function taskFailures(events: readonly TailEvent[]): HistoryTail['taskFailures'] {
  const completed = events.findIndex((event) => isSet(event.workflowTaskCompletedEventAttributes));
  const since = completed === -1 ? events : events.slice(0, completed);
  const failed = since.filter((event) => isSet(event.workflowTaskFailedEventAttributes));
  const failingSince = millisecondsOf(failed.at(-1)?.eventTime);
  const failure = rootMessage(failed[0]?.workflowTaskFailedEventAttributes?.failure);
  const isDiverged = failed.some(({ workflowTaskFailedEventAttributes: of }) => of?.cause === nondeterministic);
  return {
    ...(failingSince === undefined ? {} : { failingSince }),
    ...(failure === undefined ? {} : { failure }),
    ...(isDiverged ? { isDiverged } : {}),
  };
}

const isSet = (value: object | null | undefined): boolean => value !== undefined && value !== null;

/** The message of the innermost cause: outer ones only name the activity. */
export function rootMessage(failure: Failure | null | undefined): string | undefined {
  let inner = failure ?? undefined;
  while (inner?.cause !== undefined && inner.cause !== null) inner = inner.cause;
  const message = inner?.message ?? '';
  return message === '' ? undefined : message;
}

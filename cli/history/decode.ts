import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { millisecondsOf } from '../../core/time.js';
import type { WorkflowEnding, Started, Step } from './records.js';

export type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];
type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];

/** The steps of a run that concern its node, in order. */
export function decodeHistory(events: readonly HistoryEvent[]): readonly Step[] {
  const scheduled = new Map<string, { readonly name: string; readonly input: unknown }>();
  return events.flatMap((event) => {
    const activity = event.activityTaskScheduledEventAttributes;
    if (activity) {
      scheduled.set(String(event.eventId), {
        name: activity.activityType?.name ?? '',
        input: firstOf(activity.input?.payloads),
      });
      return [];
    }
    const step = stepOf(event, scheduled);
    if (step === undefined) return [];
    return step.is === 'started' && !step.isContinued ? [step, attributesOf(event, step.at)] : [step];
  });
}

/** The search attributes at start. */
function attributesOf({ workflowExecutionStartedEventAttributes: started }: HistoryEvent, at: number): Step {
  return { is: 'attributes', at, values: valuesOf(started?.searchAttributes?.indexedFields) };
}

const valuesOf = (fields: Readonly<Record<string, Payload>> | null | undefined): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([name, value]) => [name, valueOf(value)]));

function stepOf(
  event: HistoryEvent,
  scheduled: ReadonlyMap<string, { name: string; input: unknown }>,
): Step | undefined {
  const at = millisecondsOf(event.eventTime) ?? 0;
  const { activityTaskCompletedEventAttributes: done, upsertWorkflowSearchAttributesEventAttributes: upsert } = event;
  if (done) {
    const activity = scheduled.get(String(done.scheduledEventId)) ?? { name: '', input: undefined };
    return { is: 'activity', at, ...activity, result: firstOf(done.result?.payloads) };
  }
  if (upsert) return { is: 'attributes', at, values: valuesOf(upsert.searchAttributes?.indexedFields) };
  return startedOf(event, at) ?? messageOf(event, at) ?? endedOf(event, at);
}

function startedOf(event: HistoryEvent, at: number): Started | undefined {
  const started = event.workflowExecutionStartedEventAttributes;
  if (!started) return undefined;
  const { workflowId, runId } = started.parentWorkflowExecution ?? {};
  const summary = valueOf(event.userMetadata?.summary);
  const details = valueOf(event.userMetadata?.details);
  const isContinued = (started.continuedExecutionRunId ?? '') !== '';
  return {
    is: 'started',
    at,
    input: firstOf(started.input?.payloads),
    isContinued,
    ...(typeof summary === 'string' ? { summary } : {}),
    ...(typeof details === 'string' ? { details } : {}),
    ...(workflowId && runId ? { parent: { workflowId, runId } } : {}),
  };
}

function messageOf(event: HistoryEvent, at: number): Step | undefined {
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) return { is: 'message', at, name: signal.signalName ?? '', input: firstOf(signal.input?.payloads) };
  const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
  return update ? { is: 'message', at, name: update.name ?? '', input: firstOf(update.args?.payloads) } : undefined;
}

function endedOf(event: HistoryEvent, at: number): Step | undefined {
  const completed = event.workflowExecutionCompletedEventAttributes;
  if (completed) return { is: 'ended', at, how: 'completed', result: firstOf(completed.result?.payloads) };
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) return { is: 'ended', at, how: 'failed', why: failed.failure?.message ?? '' };
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated) return { is: 'ended', at, how: 'terminated', why: terminated.reason ?? '' };
  const how = silentEndOf(event);
  return how === undefined ? undefined : { is: 'ended', at, how };
}

function silentEndOf(event: HistoryEvent): WorkflowEnding | undefined {
  if (event.workflowExecutionCanceledEventAttributes) return 'canceled';
  if (event.workflowExecutionTimedOutEventAttributes) return 'timed out';
  return event.workflowExecutionContinuedAsNewEventAttributes ? 'continued as new' : undefined;
}

const firstOf = (payloads: readonly Payload[] | null | undefined): unknown => valueOf(payloads?.[0]);

/** What cannot be parsed is omitted; the step is kept. */
function valueOf(payload: Payload | null | undefined): unknown {
  if (!payload) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}

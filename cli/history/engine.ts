import type { Client, WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { millisecondsOf } from '../../core/time.js';
import { searchAttributes } from '../../workflows/messages.js';
import type { RunRef, Started, Step, WorkflowEnding } from './records.js';

/**
 * Decodes every payload in the value with `codecs`, as the SDK does except for raw histories. Throws like the codecs.
 */
async function decrypted<T>(value: T, codecs: readonly PayloadCodec[]): Promise<T> {
  let result: unknown = value;
  for (const codec of [...codecs].reverse()) result = await decodedBy(codec, result);
  return result as T;
}

async function decodedBy(codec: PayloadCodec, value: unknown): Promise<unknown> {
  if (isPayload(value)) return (await codec.decode([value]))[0];
  if (Array.isArray(value)) return Promise.all(value.map((each) => decodedBy(codec, each)));
  // 64-bit numbers and times are class instances without payloads.
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || isLong(value)) return value;
  const fields = Object.entries(value).map(async ([name, each]) => [name, await decodedBy(codec, each)] as const);
  return Object.fromEntries(await Promise.all(fields));
}

function isPayload(value: unknown): value is Payload {
  const { metadata, data } = (value ?? {}) as { metadata?: Record<string, unknown>; data?: unknown };
  return data instanceof Uint8Array && metadata?.['encoding'] instanceof Uint8Array;
}

const isLong = (value: object): boolean => 'low' in value && 'high' in value;

type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

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
  return startedOf(event, at) ?? localOf(event, at) ?? messageOf(event, at) ?? endedOf(event, at);
}

/** A local activity, which the SDK writes to the history as a marker. */
function localOf({ markerRecordedEventAttributes: marker }: HistoryEvent, at: number): Step | undefined {
  if (marker?.markerName !== 'core_local_activity') return undefined;
  const { data, result } = marker.details ?? {};
  const { activity_type: name = '' } = (firstOf(data?.payloads) ?? {}) as { readonly activity_type?: string };
  return { is: 'activity', at, name, input: undefined, result: firstOf(result?.payloads) };
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

/** A run as Temporal's visibility store lists it. */
export interface Listed extends RunRef {
  /** Empty if the workflow has no such search attribute. */
  readonly nodeClaim: string;
  readonly instanceId: string;
}

/** Access to Temporal for reading a node's life. */
export interface Engine {
  /** Newest first, at most `most`. */
  list(query: string, most: number): Promise<readonly Listed[]>;
  /** Every step of a run. */
  steps(run: RunRef): Promise<readonly Step[]>;
  /** Only the first step. */
  firstStep(run: RunRef): Promise<Step | undefined>;
  /** Only the last step, of a closed run. */
  lastStep(run: RunRef): Promise<Step | undefined>;
  /** Retention of closed workflows, milliseconds; undefined if unknown. */
  retentionMs(): Promise<number | undefined>;
}

/** HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT */
const closeEvent = 2;

export function temporalEngine(client: Client): Engine {
  const { namespace, loadedDataConverter } = client.options;
  const read = async (found: readonly HistoryEvent[]): Promise<readonly Step[]> =>
    decodeHistory(await decrypted(found, loadedDataConverter.payloadCodecs));
  const events = async ({ workflowId, runId }: RunRef, more: object): Promise<readonly Step[]> => {
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      ...{ namespace, execution: { workflowId, runId } },
      ...more,
    });
    return read(history?.events ?? []);
  };
  return {
    async list(query, most) {
      const found: Listed[] = [];
      for await (const { workflowId, runId, typedSearchAttributes } of client.workflow.list({ query })) {
        if (found.length >= most) break;
        const textOf = (key: 'nodeClaim' | 'instanceId'): string =>
          typedSearchAttributes.get(searchAttributes[key]) ?? '';
        found.push({ workflowId, runId, nodeClaim: textOf('nodeClaim'), instanceId: textOf('instanceId') });
      }
      return found;
    },
    async steps({ workflowId, runId }) {
      const { events: all } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      return read(all ?? []);
    },
    firstStep: async (run) => (await events(run, { maximumPageSize: 1 }))[0],
    lastStep: async (run) => (await events(run, { historyEventFilterType: closeEvent })).at(-1),
    async retentionMs() {
      const { config } = await client.workflowService.describeNamespace({ namespace });
      return millisecondsOf(config?.workflowExecutionRetentionTtl);
    },
  };
}

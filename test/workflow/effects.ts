import type { History } from '@temporalio/worker';
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { isThere } from './due.js';

type Event = NonNullable<History['events']>[number];
type Payloads = readonly temporal.api.common.v1.IPayload[] | null | undefined;
interface Duration {
  readonly seconds?: unknown;
  readonly nanos?: number | null;
}

/** Shorter timers are what is left of a time of which a slow server has used up all, and are left out. */
const leastSeconds = 6;

/** The SDK itself notes in it which patches a run has met; the simulated Temporal does without. */
const ofPatches = 'TemporalChangeVersion';

/**
 * What a history says that a workflow did, in its order: activities and children with their inputs, timers, signals, search attributes, and how it
 * ended. Two servers on which the same happens agree about it, but for times, which are left out, and ids of runs.
 */
export const effectsOf = ({ events }: History): readonly string[] =>
  (events ?? []).map(effectOf).filter((effect) => effect !== undefined);

function effectOf(event: Event): string | undefined {
  for (const [name, said] of Object.entries(event)) {
    const effect = effectsByEvent[name as keyof Event] as
      ((said: unknown) => readonly unknown[] | undefined) | undefined;
    const found = effect !== undefined && isThere(said) ? effect(said) : undefined;
    if (found !== undefined) return withoutTimes(JSON.stringify(found));
  }
  return undefined;
}

const effectsByEvent: {
  readonly [K in keyof Event]?: (said: NonNullable<Event[K]>) => readonly unknown[] | undefined;
} = {
  activityTaskScheduledEventAttributes: ({ activityType, taskQueue, input }) => [
    'activity',
    activityType?.name,
    taskQueue?.name,
    ...values(input?.payloads),
  ],
  markerRecordedEventAttributes: ({ details }) => [
    'local activity',
    ...values(details?.['data']?.payloads).map(typeOf),
  ],
  timerStartedEventAttributes: ({ startToFireTimeout }) => {
    const seconds = secondsOf(startToFireTimeout);
    return seconds < leastSeconds ? undefined : ['timer', seconds];
  },
  startChildWorkflowExecutionInitiatedEventAttributes: ({ workflowType, workflowId, input }) => [
    'child',
    workflowType?.name,
    workflowId,
    ...values(input?.payloads),
  ],
  signalExternalWorkflowExecutionInitiatedEventAttributes: ({ workflowExecution, signalName, input }) => [
    'signal',
    workflowExecution?.workflowId,
    signalName,
    ...values(input?.payloads),
  ],
  upsertWorkflowSearchAttributesEventAttributes: ({ searchAttributes }) => {
    const fields = Object.entries(searchAttributes?.indexedFields ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    const own = fields.filter(([name]) => name !== ofPatches);
    if (own.length === 0) return undefined;
    return ['search attributes', Object.fromEntries(own.map(([name, payload]) => [name, ...values([payload])]))];
  },
  workflowExecutionCompletedEventAttributes: ({ result }) => ['completed', ...values(result?.payloads)],
  workflowExecutionFailedEventAttributes: ({ failure }) => ['failed', failure?.message],
  workflowExecutionContinuedAsNewEventAttributes: ({ input }) => ['continued as new', ...values(input?.payloads)],
};

const values = (payloads: Payloads): unknown[] =>
  (payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload(payload));

/** Of what the SDK writes about a local activity; nothing for other markers. */
const typeOf = (data: unknown): unknown => (data as { readonly activity_type?: string } | undefined)?.activity_type;

/** Whole ones: what is left of a deadline differs by milliseconds. */
const secondsOf = (duration: Duration | null | undefined): number =>
  Math.round(Number(duration?.seconds ?? 0) + (duration?.nanos ?? 0) / 1e9);

/** Times are those of the server's clock, ids of runs are its own. */
const withoutTimes = (text: string): string =>
  text
    .replaceAll(/\b1\d{12}(\.\d+)?\b/g, '"time"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?/g, 'time')
    // What a workflow measured.
    .replaceAll(/"(durationMs|secondsToSpare|StowageSecondsToSpare)":\d+/g, '"$1":"measured"')
    .replaceAll(/run-\d{6}|[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'run');

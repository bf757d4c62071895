import type { Headers, Sinks, WorkflowInterceptors } from '@temporalio/workflow';
import { defaultPayloadConverter } from '@temporalio/common';
import { proxySinks, workflowInfo } from '@temporalio/workflow';
import { messageOf } from '../core/error-message.js';
import { hashText } from '../core/hash.js';
import { workflowNow } from './clock.js';

// Spans of workflows, with the same names and headers as those of the SDK's OpenTelemetry interceptors. Those add a
// Promise around each call and so change the order in which workflow code runs: a history recorded with tracing would
// not replay without it. These add none, and do nothing if the headers contain no trace.

/**
 * Entity workflows run for weeks: their activities belong to the trace of the last signal, not to the trace of their
 * start.
 */
const entities: ReadonlySet<string> = new Set(['provision', 'disrupt', 'keepReplicas']);
const header = '_tracer-data';
const sampledFlag = 1;
/** Of OpenTelemetry's SpanKind. */
const internal = 0;
/** Of OpenTelemetry's SpanStatusCode. */
const status = { ok: 1, failed: 2 } as const;

/** A span as the SDK's exporter expects it from workflows. */
interface ExportedSpan {
  readonly name: string;
  readonly kind: number;
  readonly spanContext: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  readonly parentSpanId: string;
  readonly startTime: Time;
  readonly endTime: Time;
  readonly duration: Time;
  readonly ended: true;
  readonly status: { readonly code: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, string>>;
  readonly links: [];
  readonly events: [];
  readonly droppedAttributesCount: number;
  readonly droppedEventsCount: number;
  readonly droppedLinksCount: number;
  readonly instrumentationLibrary: { readonly name: string };
}
/** Seconds and nanoseconds. */
type Time = readonly [number, number];
interface TraceSinks extends Sinks {
  readonly exporter: { export(spans: readonly ExportedSpan[]): void };
}

/** The parent span of a call, as in W3C's `traceparent`. */
interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

interface Call {
  readonly headers: Headers;
}

export function interceptors(): WorkflowInterceptors {
  const { workflowType } = workflowInfo();
  const spans = new Spans();
  /** Parent span of the calls that this workflow makes now. */
  let current: TraceParent | undefined;
  const traced = <Input extends Call, T>(
    name: string,
    input: Input,
    next: (input: Input) => Promise<T>,
  ): Promise<T> => {
    if (current === undefined) return next(input);
    const span = spans.begin(name, current);
    const result = next({ ...input, headers: { ...input.headers, [header]: carrierOf(span.parent) } });
    result.then(
      () => span.end(),
      (error: unknown) => span.end(error),
    );
    return result;
  };
  return {
    inbound: [
      {
        execute: (input, next) => {
          const parent = traceParentIn(input.headers);
          if (parent === undefined) return next(input);
          const span = spans.begin(`RunWorkflow:${workflowType}`, parent);
          // In signal-with-start the signal handler has run before and has set the parent.
          current ??= span.parent;
          const result = next(input);
          result.then(
            () => span.end(),
            (error: unknown) => span.end(error),
          );
          return result;
        },
        handleSignal: (input, next) => {
          if (entities.has(workflowType)) current = traceParentIn(input.headers) ?? current;
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => traced(`StartActivity:${input.activityType}`, input, next),
        scheduleLocalActivity: (input, next) => traced(`StartActivity:${input.activityType}`, input, next),
        startChildWorkflowExecution: (input, next) => traced(`StartChildWorkflow:${input.workflowType}`, input, next),
        signalWorkflow: (input, next) => traced(`SignalWorkflow:${input.signalName}`, input, next),
      },
    ],
  };
}

class Spans {
  private begun = 0;

  /** Begins a span. `end` passes it to the worker process, which exports it. */
  begin(
    name: string,
    { traceId, spanId: parentSpanId, flags }: TraceParent,
  ): { parent: TraceParent; end(error?: unknown): void } {
    const spanId = hashText(`${workflowInfo().runId}/${++this.begun}`);
    const startMs = workflowNow();
    const end = (error?: unknown): void => {
      if ((flags & sampledFlag) === 0) return;
      const endMs = workflowNow();
      const span: ExportedSpan = {
        ...{ name, kind: internal, spanContext: { traceId, spanId, traceFlags: flags }, parentSpanId, ended: true },
        ...{ startTime: timeOf(startMs), endTime: timeOf(endMs), duration: timeOf(endMs - startMs) },
        ...{ links: [], events: [], droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
        status: statusOf(error),
        attributes: {},
        instrumentationLibrary: { name: 'stowage-workflows' },
      };
      proxySinks<TraceSinks>().exporter.export([span]);
    };
    return { parent: { traceId, spanId, flags }, end };
  }
}

/** Continue-as-new is thrown as an error, but is no failure. */
function statusOf(error: unknown): ExportedSpan['status'] {
  if (error === undefined || (error instanceof Error && error.name === 'ContinueAsNew')) return { code: status.ok };
  return { code: status.failed, message: messageOf(error) };
}

const timeOf = (ms: number): Time => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1_000_000)];

const shape = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

function traceParentIn(headers: Headers): TraceParent | undefined {
  const carrier = headers[header];
  if (carrier === undefined) return undefined;
  const { traceparent = '' } = defaultPayloadConverter.fromPayload<{ traceparent?: string }>(carrier);
  const [, traceId, spanId, flags = ''] = shape.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

const carrierOf = ({ traceId, spanId, flags }: TraceParent): Headers[string] =>
  defaultPayloadConverter.toPayload({ traceparent: `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}` });

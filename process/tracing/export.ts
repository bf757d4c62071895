import { messageOf } from '../../core/error-message.js';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { Log } from '../../core/telemetry.js';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { WorkerTracing } from '../../worker/workers.js';

/** Tracing of this process: interceptors for its client and its workers. */
export interface Tracing {
  readonly client: { readonly workflow: WorkflowClientInterceptor[] };
  readonly worker: WorkerTracing;
  /** Flushes remaining spans, for at most two seconds. */
  close(): Promise<void>;
}

interface Exported {
  /** URL of a collector for OTLP over HTTP. */
  readonly endpoint: string;
  readonly cluster: string;
  readonly role: string;
  readonly identity: string;
  readonly log: Log;
}

const longestMs = 2000;

/** Traces with the SDK's interceptors, in batches. Headers and samplers are set by OpenTelemetry's variables. */
export function exportTraces({ endpoint, cluster, role, identity, log }: Exported): Tracing {
  const resource = new Resource({
    'service.name': 'stowage',
    'service.instance.id': identity,
    'k8s.cluster.name': cluster,
    'stowage.role': role,
  });
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const processor = new BatchSpanProcessor(sayingOnce(new OTLPTraceExporter({ url }), new URL(url).host, log));
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  provider.register({ contextManager: new AsyncLocalStorageContextManager().enable() });
  return {
    client: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] },
    worker: {
      activity: (context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) }),
      sinks: { exporter: makeWorkflowExporter(processor, resource) },
    },
    close: () =>
      Promise.race([
        provider.shutdown().catch(() => undefined),
        new Promise<void>((resolve) => setTimeout(resolve, longestMs).unref()),
      ]),
  };
}

/**
 * Logs once when traces cannot be sent, and once when they can again. `collector` is only its host, since its URL may
 * contain a password.
 */
export function sayingOnce(exporter: SpanExporter, collector: string, log: Log): SpanExporter {
  let fails = false;
  const note = ({ code, error }: ExportResult): void => {
    const failed = code === ExportResultCode.FAILED;
    if (failed && !fails) log.warn({ collector, error: messageOf(error) }, 'traces cannot be sent, and are lost');
    if (!failed && fails) log.info({ collector }, 'traces are sent again');
    fails = failed;
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        note(result);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

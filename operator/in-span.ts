import { messageOf } from '../core/error-message.js';
import { SpanStatusCode, trace } from '@opentelemetry/api';

/** Runs `work` in a trace (docs/tracing.md) that began at `sinceMs`; without a trace if none are exported. */
export function inSpan<T>(name: string, sinceMs: number, work: () => Promise<T>): Promise<T> {
  return trace.getTracer('stowage').startActiveSpan(name, { startTime: sinceMs, root: true }, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

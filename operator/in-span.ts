import { messageOf } from '../core/error-message.js';
import { SpanStatusCode, trace } from '@opentelemetry/api';

/** What follows is one trace (docs/tracing.md), which began at `sinceMs`. Does `work` alone where no traces are exported. */
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

import { messageOf } from '../core/error-message.js';
import type { Log, Metrics } from '../core/telemetry.js';

/**
 * Where an exception was caught: in a handler of changes, in a request handler, or in an unhandled callback or promise.
 */
type FaultSource = 'change' | 'request' | 'callback';

/** Handles an error that is a bug in Stowage. */
export type OnFault = (source: FaultSource, error: unknown, facts?: object) => void;

const mostRemembered = 100;

/**
 * Handles an exception that concerns one object or request: logs it once per message, and counts it. The process
 * continues (invariants/failures-are-contained).
 */
export function faultReporter(log: Log, metrics: Pick<Metrics, 'count'>): OnFault {
  const said = new Set<string>();
  return (source, error, facts = {}) => {
    metrics.count('stowage_faults_total', { source });
    const key = `${source} ${messageOf(error)}`;
    if (said.has(key)) return;
    if (said.size >= mostRemembered) said.clear();
    said.add(key);
    const found = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error({ ...facts, source, error: found }, 'internal error: this operation failed, the process continues');
  };
}

/** Prevents uncaught exceptions of callbacks and unhandled rejections from ending the process. */
export function containFaults(of: Pick<NodeJS.Process, 'on'>, onFault: OnFault): void {
  // Node raises unhandled rejections as uncaught exceptions too.
  of.on('uncaughtException', (error) => onFault('callback', error));
}

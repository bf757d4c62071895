import { messageOf } from '../core/error-message.js';
import type { Log, Metrics } from '../core/telemetry.js';

/** Where a fault was contained: in a handler of changes, in answering a request, or in anything else that nobody waits for. */
type FaultSource = 'change' | 'request' | 'callback';

/** Takes an error that is a fault of Stowage itself. */
export type OnFault = (source: FaultSource, error: unknown, facts?: object) => void;

const mostRemembered = 100;

/**
 * What every fault of one object or request comes to: a line in the log, once for each message, and a count. The process goes on
 * (invariants/failures-are-contained).
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
    log.error({ ...facts, source, error: found }, 'a fault of Stowage: what it was about has failed, all else goes on');
  };
}

/** No error that a callback throws, or that a promise is rejected with that nobody waits for, ends the process from then on. */
export function containFaults(of: Pick<NodeJS.Process, 'on'>, onFault: OnFault): void {
  // Node raises rejections that nobody handles as uncaught exceptions, too.
  of.on('uncaughtException', (error) => onFault('callback', error));
}

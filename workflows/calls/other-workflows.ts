import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { isCancellation, log } from '@temporalio/workflow';

/**
 * Whether a child workflow did not start because a workflow with this id runs or has run. Callers take it for started,
 * since the id identifies the work.
 */
export function isStartedAlready(error: unknown): boolean {
  return error instanceof WorkflowExecutionAlreadyStartedError;
}

/** Signals a workflow that may have ended; returns whether the signal was delivered. */
export async function notify(signal: () => Promise<void>): Promise<boolean> {
  try {
    await signal();
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.debug('a signal was not delivered', { error });
    return false;
  }
}

/**
 * Signals that are sent without awaiting them. Continue-as-new would drop those still under way, so a run waits until
 * `isEmpty`.
 */
export class Outbox {
  private readonly pending = new Set<Promise<boolean>>();

  get isEmpty(): boolean {
    return this.pending.size === 0;
  }

  send(signal: () => Promise<void>): void {
    const sending = notify(signal).catch(() => false);
    this.pending.add(sending);
    void sending.then(() => this.pending.delete(sending));
  }
}

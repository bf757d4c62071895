import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { isCancellation, log } from '@temporalio/workflow';

/** Whether a child could not start because its id runs or ran already: the wanted state, by somebody else's hand. */
export function isStartedAlready(error: unknown): boolean {
  return error instanceof WorkflowExecutionAlreadyStartedError;
}

/** Signals somebody who may be gone; tells whether the signal was taken. */
export async function notify(signal: () => Promise<void>): Promise<boolean> {
  try {
    await signal();
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.debug('nobody took the signal', { error });
    return false;
  }
}

/**
 * Signals that a handler sends on without waiting for them. A run that continues as new drops what it has not sent yet, so it
 * waits until the outbox is empty.
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

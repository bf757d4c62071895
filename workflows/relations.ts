import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { isCancellation, log } from '@temporalio/workflow';

/** Whether a child could not start because its id runs or ran already: the wanted state, by somebody else's hand. */
export function isStartedAlready(error: unknown): boolean {
  return error instanceof WorkflowExecutionAlreadyStartedError;
}

/** Signals somebody who may be gone; tells whether the signal was taken. */
export async function tell(signal: () => Promise<void>): Promise<boolean> {
  try {
    await signal();
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.debug('nobody took the signal', { error });
    return false;
  }
}

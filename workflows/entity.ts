import { workflowInfo } from '@temporalio/workflow';

/** Histories are kept far below Temporal's limit of 51,200 events: a worker that takes a workflow over reads all of it. */
const mostEvents = 4000;

/** Whether it is time to continue as new, at a point where everything that counts is carried over. */
export function isHistoryLong(most = mostEvents): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength > most;
}

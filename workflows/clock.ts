/**
 * The workflow's time in milliseconds of the epoch. The SDK takes it from history, so it is the same in every replay.
 */
export function workflowNow(): number {
  return new Date().getTime();
}

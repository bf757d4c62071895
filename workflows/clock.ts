/** Milliseconds of the epoch by the workflow's own clock, which the SDK sets from history: the same in every replay. */
export function workflowNow(): number {
  return new Date().getTime();
}

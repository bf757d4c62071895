import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { Run } from '../../simulation/temporal/run.js';

/** What a history says of the children that a run started, of activities that it cancelled, and of its tasks that failed. */
export function historyOf(run: Run, problems: readonly string[]): History {
  const commanded = run.commands.map(({ startChildWorkflowExecution, requestCancelActivity }) => ({
    startChildWorkflowExecutionInitiatedEventAttributes: startChildWorkflowExecution && {
      workflowType: { name: startChildWorkflowExecution.workflowType },
      workflowId: startChildWorkflowExecution.workflowId,
    },
    activityTaskCancelRequestedEventAttributes: requestCancelActivity && {},
  }));
  const failed = problems
    .filter((problem) => problem.startsWith(`${run.id}: workflow task failed`))
    .map((cause) => ({ workflowTaskFailedEventAttributes: { cause } }));
  return { events: [...commanded, ...failed] } as unknown as History;
}

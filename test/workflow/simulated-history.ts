import type { History } from '@temporalio/worker';
import { toPayloads } from '../simulation/temporal/payloads.js';
import type { Run } from '../simulation/temporal/run.js';
import type { Command } from '../simulation/temporal/sandbox.js';

/** What a history says of all that a run asked for, and of its tasks that failed. */
export function historyOf(run: Run, problems: readonly string[]): History {
  const failed = problems
    .filter((problem) => problem.startsWith(`${run.id}: workflow task failed`))
    .map((cause) => ({ workflowTaskFailedEventAttributes: { cause } }));
  return { events: [...run.commands.map(eventOf), ...failed] } as unknown as History;
}

type Written = Readonly<Record<string, unknown>>;

/** The event that the server writes for a command; one without attributes for commands that no test reads. */
function eventOf(command: Command): Written {
  return { ...ofSteps(command), ...ofOthers(command), ...ofEnds(command) };
}

function ofSteps({
  scheduleActivity,
  scheduleLocalActivity,
  requestCancelActivity,
  startTimer,
  upsertWorkflowSearchAttributes,
}: Command): Written {
  // prettier-ignore
  return {
    activityTaskScheduledEventAttributes: scheduleActivity && {
      activityType: { name: scheduleActivity.activityType },
      taskQueue: { name: scheduleActivity.taskQueue },
      input: { payloads: scheduleActivity.arguments },
    },
    markerRecordedEventAttributes: scheduleLocalActivity && {
      details: { data: { payloads: toPayloads([{ activity_type: scheduleLocalActivity.activityType }]) } },
    },
    activityTaskCancelRequestedEventAttributes: requestCancelActivity && {},
    timerStartedEventAttributes: startTimer && { startToFireTimeout: startTimer.startToFireTimeout },
    upsertWorkflowSearchAttributesEventAttributes: upsertWorkflowSearchAttributes && {
      searchAttributes: upsertWorkflowSearchAttributes.searchAttributes,
    },
  };
}

function ofOthers({ startChildWorkflowExecution, signalExternalWorkflowExecution }: Command): Written {
  return {
    startChildWorkflowExecutionInitiatedEventAttributes: startChildWorkflowExecution && {
      workflowType: { name: startChildWorkflowExecution.workflowType },
      workflowId: startChildWorkflowExecution.workflowId,
      input: { payloads: startChildWorkflowExecution.input },
    },
    signalExternalWorkflowExecutionInitiatedEventAttributes: signalExternalWorkflowExecution && {
      workflowExecution: signalExternalWorkflowExecution.workflowExecution,
      signalName: signalExternalWorkflowExecution.signalName,
      input: { payloads: signalExternalWorkflowExecution.args },
    },
  };
}

function ofEnds({
  completeWorkflowExecution,
  failWorkflowExecution,
  continueAsNewWorkflowExecution,
}: Command): Written {
  // prettier-ignore
  const { result } = completeWorkflowExecution ?? {};
  return {
    workflowExecutionCompletedEventAttributes: completeWorkflowExecution && {
      result: { payloads: result ? [result] : [] },
    },
    workflowExecutionFailedEventAttributes: failWorkflowExecution && { failure: failWorkflowExecution.failure },
    workflowExecutionContinuedAsNewEventAttributes: continueAsNewWorkflowExecution && {
      input: { payloads: continueAsNewWorkflowExecution.arguments },
    },
  };
}

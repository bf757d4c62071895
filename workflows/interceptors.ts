import { ApplicationFailure } from '@temporalio/workflow';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { failures } from '../core/failures.js';
import { Unreadable } from './unreadable.js';

/**
 * What a step gives that cannot be read is its failure, for whoever waits for it: else each of its fields would seem to be missing, and what is
 * missing often means "no". Signals, queries and updates are refused by their handlers. Bundled with the workflows.
 */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity: (input, next) => readable(`activity ${input.activityType}`, next(input)),
      startChildWorkflowExecution: (input, next) =>
        next(input).then(([started, result]) => [started, readable(`workflow ${input.workflowType}`, result)]),
    },
  ],
});

function readable(what: string, result: Promise<unknown>): Promise<unknown> {
  const read = result.then((value) => {
    if (!(value instanceof Unreadable)) return value;
    throw ApplicationFailure.create({
      type: failures.unreadable.type,
      message: `the result of ${what} cannot be read: ${value.why}`,
      nonRetryable: true,
    });
  });
  // A child's result need not be waited for.
  read.catch(() => undefined);
  return read;
}

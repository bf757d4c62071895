import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { failures } from '../core/failures.js';
import { malformedInput, wrongId } from './inputs.js';
import { orderOrigin } from './people/order-origin.js';
import { Unreadable } from './unreadable.js';

/**
 * Fails a workflow whose input is malformed or whose id does not match its input (inputs.ts), and an activity or child
 * workflow whose result could not be decoded: its fields would all read as undefined, which often means "no". Marks or
 * refuses orders that did not come through the `stowage` command. Signals, queries and updates are checked in their
 * handlers. Bundled with the workflows.
 */
export function interceptors(): WorkflowInterceptors {
  const orders = orderOrigin();
  return {
    inbound: [
      {
        execute: (input, next) => {
          const { workflowType, workflowId } = workflowInfo();
          const malformed = malformedInput(workflowType, input.args);
          if (malformed !== undefined)
            return Promise.reject(invalid(`the input of ${workflowType} is malformed: ${malformed}`));
          const wrong = wrongId(workflowType, workflowId, input.args);
          return wrong === undefined
            ? next(input)
            : Promise.reject(invalid(`this ${workflowType} may not run: ${wrong}`));
        },
      },
      orders.inbound,
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => readable(`activity ${input.activityType}`, next(input)),
        scheduleLocalActivity: (input, next) => readable(`activity ${input.activityType}`, next(input)),
        startChildWorkflowExecution: (input, next) =>
          next(input).then(([started, result]) => [started, readable(`workflow ${input.workflowType}`, result)]),
      },
      orders.outbound,
    ],
  };
}

const invalid = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: failures.invalid.type, message, nonRetryable: true });

function readable(what: string, result: Promise<unknown>): Promise<unknown> {
  const read = result.then((value) => {
    if (!(value instanceof Unreadable)) return value;
    throw ApplicationFailure.create({
      type: failures.unreadable.type,
      message: `the result of ${what} cannot be read: ${value.why}`,
      nonRetryable: true,
    });
  });
  // A child's result may not be awaited, and an unhandled rejection would fail the workflow.
  read.catch(() => undefined);
  return read;
}

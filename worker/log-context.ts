import { AsyncLocalStorage } from 'node:async_hooks';
import type { Info } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/** Fields of every line that is logged while an activity runs. */
interface Facts {
  readonly workflowId?: string;
  readonly activity: string;
  readonly attempt?: number;
  readonly nodeClaim?: string;
}

const facts = new AsyncLocalStorage<Facts>();

/** For the logger: the context of the running activity, in all code it calls. Fields of a line take precedence. */
export const logContext = (): object => ({ ...facts.getStore() });

/** Adds the workflow and the NodeClaim to all log lines of an activity. */
export const logInterceptor: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: { execute: (input, next) => facts.run(factsOf(info, input.args), () => next(input)) },
});

function factsOf({ workflowExecution, activityType, attempt }: Info, [input]: readonly unknown[]): Facts {
  const nodeClaim = claimOf(input);
  return {
    ...(workflowExecution === undefined ? {} : { workflowId: workflowExecution.workflowId }),
    activity: activityType,
    ...(attempt === 1 ? {} : { attempt }),
    ...(nodeClaim === undefined ? {} : { nodeClaim }),
  };
}

/** Activities for one NodeClaim have it in their input as `claim`. */
function claimOf(input: unknown): string | undefined {
  const name = (input as { readonly claim?: { readonly name?: unknown } } | undefined)?.claim?.name;
  return typeof name === 'string' ? name : undefined;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Info } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/** What every line names that is logged while an activity runs. */
interface Facts {
  readonly workflowId?: string;
  readonly activity: string;
  readonly attempt?: number;
  readonly nodeClaim?: string;
}

const facts = new AsyncLocalStorage<Facts>();

/** For the logger: what the line is about, wherever in the process it is written. A line's own facts win. */
export const logContext = (): object => ({ ...facts.getStore() });

/** Lets whatever an activity logs name its workflow, and the NodeClaim that it is about. */
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

/** Activities that are about one NodeClaim have it in their input as `claim`. */
function claimOf(input: unknown): string | undefined {
  const name = (input as { readonly claim?: { readonly name?: unknown } } | undefined)?.claim?.name;
  return typeof name === 'string' ? name : undefined;
}

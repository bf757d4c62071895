import { Context } from '@temporalio/activity';

/** The attempt of the activity that is running. */
interface Attempt {
  /** The same for all attempts of one activity. */
  readonly key: string;
  /** The first is 1. */
  readonly number: number;
  /** Its startToClose timeout, milliseconds. */
  readonly limitMs: number;
  /** Aborts when the attempt is over: it was cancelled, has timed out, or its worker shuts down. */
  readonly signal: AbortSignal;
  /** Sets what the attempt is waiting for, which its heartbeats report. */
  readonly note: (progress: string) => void;
}

const progress = new WeakMap<Context, string>();

/** Undefined outside of activities, as in tests and simulations. */
export function currentAttempt(): Attempt | undefined {
  const context = currentContext();
  if (context === undefined) return undefined;
  const { workflowExecution, activityId, activityType, attempt, startToCloseTimeoutMs } = context.info;
  return {
    key: [workflowExecution?.workflowId, workflowExecution?.runId, activityType, activityId].join(' '),
    number: attempt,
    limitMs: startToCloseTimeoutMs,
    signal: context.cancellationSignal,
    note: (text) => void progress.set(context, text),
  };
}

/** What the attempt is waiting for, by its last note. */
export function progressOf(context: Context): string | undefined {
  return progress.get(context);
}

function currentContext(): Context | undefined {
  try {
    return Context.current();
  } catch {
    return undefined;
  }
}

import { condition, continueAsNew } from '@temporalio/workflow';
import type { Workflow } from '@temporalio/workflow';
import { HistoryFull, isHistoryLong } from '../history-limit.js';

/**
 * How long a run waits for work under way before it continues as new. Work that is cut off then is repeated by the next
 * run from the carried state.
 */
const settleMs = 60_000;

interface Entity<Result, Args extends unknown[]> {
  /** One round of work. A result other than undefined ends the workflow. `HistoryFull` leads to continue-as-new. */
  readonly round: () => Promise<Result | undefined>;
  /** The arguments of the next run, with the state that it carries on. */
  readonly next: () => Args;
  /** Whether no handler runs and no signal is being sent, neither of which is in the carried state. */
  readonly isIdle?: () => boolean;
  /**
   * Whether a person's order waits for the next round. Orders are not carried over, so the run continues until they are
   * done.
   */
  readonly hasOrders?: () => boolean;
}

/**
 * The main loop of an entity workflow: rounds until one ends the workflow, whose result is returned, or until the
 * history is long, when it continues as new.
 */
export async function runEntity<F extends Workflow, Result = Awaited<ReturnType<F>>>({
  round,
  next,
  isIdle = () => true,
  hasOrders = () => false,
}: Entity<Result, Parameters<F>>): Promise<Result> {
  for (;;) {
    while (!isHistoryLong() || hasOrders()) {
      const ended = await unlessHistoryFull(round);
      if (ended !== undefined) return ended;
    }
    if (!isIdle()) await condition(isIdle, settleMs, { summary: 'work in progress to end' });
    if (!hasOrders()) return continueAsNew<F>(...next());
  }
}

async function unlessHistoryFull<T>(round: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await round();
  } catch (error) {
    if (error instanceof HistoryFull) return undefined;
    throw error;
  }
}

import { setSignalHandler, setUpdateHandler } from '../handlers.js';
import type { Explanation, Order } from '../messages.js';
import { rollbackSignal, rollbackUpdate } from '../messages.js';
import { checkActor, handleOrderSignal } from '../people/orders.js';
import type { Progress } from '../progress.js';

/**
 * Sets the handlers of `rollback`, as update and as signal. Unlike other orders it calls Kubernetes before it is
 * answered.
 */
export function handleRollback(progress: Progress, rollBack: (order: Order) => Promise<Explanation>): void {
  setUpdateHandler(rollbackUpdate, rollBack, checkActor);
  const signalled = async (order: Order): Promise<void> => {
    let done: Promise<unknown> | undefined;
    // A refusal is noted in `explain`: a signal has no answer.
    const act = (): void => void (done = rollBack(order).catch(() => undefined));
    handleOrderSignal(progress, 'rollback', { check: () => checkActor(order), act });
    await done;
  };
  setSignalHandler(rollbackSignal, signalled);
}

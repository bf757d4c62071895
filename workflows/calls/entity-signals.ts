import { getExternalWorkflowHandle, sleep } from '@temporalio/workflow';
import type { SignalDefinition } from '@temporalio/common';
import { backOffMs } from '../../core/back-off.js';
import { workflowIds } from '../../core/ids.js';
import { activitiesOf } from './proxies.js';
import { notify } from './other-workflows.js';

const backOff = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Signals `provision`, and starts it if it does not run. Tries again until the signal is delivered, or `mostAttempts`
 * times.
 */
export async function signalProvision<Payload>(
  cluster: string,
  signal: SignalDefinition<[Payload]>,
  payload: Payload,
  mostAttempts: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  const send = (): Promise<void> => getExternalWorkflowHandle(workflowIds.provision(cluster)).signal(signal, payload);
  for (let attempt = 1; !(await notify(send)) && attempt < mostAttempts; attempt++) {
    if (attempt > 1) await sleep(backOffMs(attempt - 1, backOff));
    await activitiesOf(cluster).kube.ensureEntity.executeWithOptions({ summary: 'start provision' }, [
      { entity: 'provision' },
    ]);
  }
}

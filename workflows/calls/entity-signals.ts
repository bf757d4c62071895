import { getExternalWorkflowHandle, isCancellation, log, sleep } from '@temporalio/workflow';
import type { SignalDefinition } from '@temporalio/common';
import type { Entity } from '../../activities/entities-contract.js';
import { backOffMs } from '../../core/back-off.js';
import { workflowIds } from '../../core/ids.js';
import { activitiesOf } from './proxies.js';
import { notify } from './other-workflows.js';

const backOff = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Signals an entity workflow of the cluster, and starts it if it does not run. Retries until the signal is delivered;
 * only a cancellation ends it earlier.
 */
export async function signalEntity<Args extends unknown[]>(
  cluster: string,
  entity: Entity,
  signal: SignalDefinition<Args>,
  ...args: Args
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await getExternalWorkflowHandle(workflowIds[entity](cluster)).signal(signal, ...args);
      return;
    } catch (error) {
      if (isCancellation(error)) throw error;
      log.info('an entity workflow could not be signalled: starting it', { entity, signal: signal.name });
    }
    if (attempt > 0) await sleep(backOffMs(attempt, backOff));
    await activitiesOf(cluster).kube.ensureEntity.executeWithOptions({ summary: `start ${entity}` }, [{ entity }]);
  }
}

/** As `signalEntity`, for signals that may be lost: two attempts at most. */
export async function notifyEntity<Args extends unknown[]>(
  cluster: string,
  entity: Entity,
  signal: SignalDefinition<Args>,
  ...args: Args
): Promise<void> {
  const send = (): Promise<void> => getExternalWorkflowHandle(workflowIds[entity](cluster)).signal(signal, ...args);
  if (await notify(send)) return;
  await activitiesOf(cluster).kube.ensureEntity.executeWithOptions({ summary: `start ${entity}` }, [{ entity }]);
  await notify(send);
}

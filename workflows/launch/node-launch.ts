import {
  ChildWorkflowFailure,
  executeChild,
  isCancellation,
  log,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { settleAll } from '../../core/settle-all.js';
import type { launchNode } from './launch-node.js';
import type { LaunchBatchInput, LaunchNodeInput, LaunchStart } from '../messages.js';
import { isStartedAlready } from '../relations.js';
import { counted } from '../../core/plurals.js';

/**
 * Starts the claim's `launchNode`, which outlives whoever starts it. The operator may have found the claim first, or this may
 * be a second attempt: it is being launched then, which is all that is wanted.
 */
export async function beginLaunch(
  input: LaunchNodeInput,
  shown: { readonly summary: string; readonly details?: string | undefined },
): Promise<void> {
  const { cluster, claim } = input;
  try {
    await startChild<typeof launchNode>('launchNode', {
      workflowId: workflowIds.launch(cluster, claim.uid),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: shown.summary,
      ...(shown.details === undefined ? {} : { staticDetails: shown.details }),
      args: [input],
    });
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
  }
}

/** So many are children of the workflow that asks; of a larger plan each hundred has a parent of its own, which ends at once. */
const mostOwnChildren = 20;
const perBatch = 100;

/**
 * Starts every launch of a plan. Temporal counts children until they end, launches take minutes, and no workflow may have more
 * than some 2,000: a plan for thousands of nodes does not add up in the one who made it.
 */
export async function beginLaunches(cluster: string, planId: string, launches: readonly LaunchStart[]): Promise<void> {
  if (launches.length <= mostOwnChildren) {
    await settleAll(launches, ({ input, ...shown }) => beginLaunch(input, shown));
    return;
  }
  for (let part = 0; part * perBatch < launches.length; part++) {
    const own = launches.slice(part * perBatch, (part + 1) * perBatch);
    try {
      await executeChild<(input: LaunchBatchInput) => Promise<void>>('launchBatch', {
        workflowId: workflowIds.launchBatch(cluster, planId, part),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: counted(own.length, 'launch', 'launches'),
        args: [{ cluster, launches: own }],
      });
    } catch (error) {
      if (isStartedAlready(error)) continue;
      if (!(error instanceof ChildWorkflowFailure) || isCancellation(error)) throw error;
      // Somebody terminated it: the operator starts what is missing.
      log.warn('not every launch was started', { error });
    }
  }
}

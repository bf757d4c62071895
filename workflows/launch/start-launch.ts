import {
  ChildWorkflowFailure,
  executeChild,
  isCancellation,
  log,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { settleAll } from '../../core/at-once.js';
import type { launchNode } from './launch-node.js';
import type { LaunchBatchInput, LaunchNodeInput, LaunchStart } from '../messages.js';
import { startOptions } from '../messages.js';
import { isStartedAlready } from '../calls/other-workflows.js';
import { counted } from '../../core/text.js';

/**
 * Starts the NodeClaim's `launchNode` as an abandoned child. It may run already, because the operator started it or
 * this is a second attempt; then nothing is to be done.
 */
export async function startLaunch(
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
      ...startOptions('launchNode', input, { ...workflowInfo(), details: shown.details }),
      args: [input],
    });
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
  }
}

/**
 * Up to this number, launches are direct children; of a larger plan each hundred gets a parent `launchBatch`, which
 * ends at once.
 */
const mostOwnChildren = 20;
const perBatch = 100;

/**
 * Starts all launches of a plan. Temporal allows a workflow some 2,000 open children, and launches stay open for
 * minutes: the launches of large plans must not add up in `provision`.
 */
export async function startLaunches(cluster: string, planId: string, launches: readonly LaunchStart[]): Promise<void> {
  if (launches.length <= mostOwnChildren) {
    await settleAll(launches, ({ input, ...shown }) => startLaunch(input, shown));
    return;
  }
  const parts = Array.from({ length: Math.ceil(launches.length / perBatch) }, (_, part) => part);
  await settleAll(parts, async (part) => {
    const own = launches.slice(part * perBatch, (part + 1) * perBatch);
    try {
      await executeChild<(input: LaunchBatchInput) => Promise<void>>('launchBatch', {
        workflowId: workflowIds.launchBatch(cluster, planId, part),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: counted(own.length, 'launch', 'launches'),
        ...startOptions('launchBatch', { cluster }, workflowInfo()),
        args: [{ cluster, launches: own }],
      });
    } catch (error) {
      if (isStartedAlready(error)) return;
      if (!(error instanceof ChildWorkflowFailure) || isCancellation(error)) throw error;
      // The `launchBatch` was terminated by hand. The operator starts the launches that are missing.
      log.warn('not every launch was started', { error });
    }
  });
}

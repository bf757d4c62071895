import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { workflowIds } from '../core/ids.js';
import type { launchNode } from './launch-node.js';
import type { LaunchNodeInput } from './messages.js';
import { isStartedAlready } from './relations.js';

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
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: shown.summary,
      ...(shown.details === undefined ? {} : { staticDetails: shown.details }),
      args: [input],
    });
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
  }
}

import { ChildWorkflowCancellationType, executeChild, ParentClosePolicy } from '@temporalio/workflow';
import { workflowIds } from '../core/ids.js';
import type { TerminateNodeInput } from './messages.js';
import { isStartedAlready } from './relations.js';
import type { terminateNode } from './terminate-node.js';

/**
 * Deletes the claim and follows its `terminateNode` to the end. Reasons to remove one node meet there: `elsewhere` says that
 * somebody else's is under way or over, and nothing was waited for. It outlives whoever started it.
 */
export async function endNode(input: Omit<TerminateNodeInput, 'deleteClaim'>): Promise<'ended' | 'elsewhere'> {
  const { cluster, claim, reason } = input;
  try {
    await executeChild<typeof terminateNode>('terminateNode', {
      workflowId: workflowIds.terminate(cluster, claim.uid),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      // A node that drains is past the point of no return: whoever gives up waiting for it does not stop it.
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      staticSummary: `${claim.name}: ${reason}`,
      args: [{ ...input, deleteClaim: true }],
    });
    return 'ended';
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
    return 'elsewhere';
  }
}

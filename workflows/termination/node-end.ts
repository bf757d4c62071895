import { ChildWorkflowCancellationType, executeChild, ParentClosePolicy, startChild } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import type { TerminateNodeInput } from '../messages.js';
import { placeOf } from '../messages.js';
import { isStartedAlready } from '../relations.js';
import type { terminateNode } from './terminate-node.js';

/** What ends a node: by which claim, why, and by when. */
export type Ending = Omit<TerminateNodeInput, 'deleteClaim'>;

const optionsFor = (input: Ending, staticSummary: string) =>
  ({
    ...placeOf(input.cluster, 'terminateNode'),
    workflowId: workflowIds.terminate(input.cluster, input.claim.uid),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    // A claim that is there again, as after a restore of etcd, has to go again.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary,
    args: [{ ...input, deleteClaim: true }],
  }) as const;

/** Has the claim deleted by its `terminateNode`, and waits for nothing but its start. */
export async function beginEnd(input: Ending, summary: string): Promise<void> {
  try {
    await startChild<typeof terminateNode>('terminateNode', optionsFor(input, summary));
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
  }
}

/**
 * Deletes the claim and follows its `terminateNode` to the end. Reasons to remove one node meet there: `elsewhere` says that
 * somebody else's is under way, and nothing was waited for. It outlives whoever started it.
 */
export async function endNode(input: Ending): Promise<'ended' | 'elsewhere'> {
  try {
    await executeChild<typeof terminateNode>('terminateNode', {
      ...optionsFor(input, `${input.claim.name}: ${input.reason}`),
      // A node that drains is past the point of no return: whoever gives up waiting for it does not stop it.
      cancellationType: ChildWorkflowCancellationType.ABANDON,
    });
    return 'ended';
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
    return 'elsewhere';
  }
}

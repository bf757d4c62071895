import {
  CancellationScope,
  CancelledFailure,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  executeChild,
  log,
  ParentClosePolicy,
  startChild,
  TerminatedFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import type { TerminateNodeInput } from '../messages.js';
import { startOptions } from '../messages.js';
import { isStartedAlready } from '../calls/other-workflows.js';
import type { terminateNode } from './terminate-node.js';

/** Which NodeClaim to terminate, why, and until when. */
export type TerminationRequest = Omit<TerminateNodeInput, 'deleteClaim'>;

const optionsFor = (input: TerminationRequest, staticSummary: string) =>
  ({
    ...startOptions('terminateNode', input, workflowInfo()),
    workflowId: workflowIds.terminate(input.cluster, input.claim.uid),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    // The same NodeClaim can come back, for example when etcd is restored from a backup. It must be terminated again.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary,
    args: [{ ...input, deleteClaim: true }],
  }) as const;

/** Starts the NodeClaim's `terminateNode` and does not wait for its end. */
export async function startTermination(input: TerminationRequest, summary: string): Promise<void> {
  try {
    await startChild<typeof terminateNode>('terminateNode', optionsFor(input, summary));
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
  }
}

/**
 * How a termination ended for its caller. `elsewhere`: it was started for another reason already, and is not waited
 * for. `paused`, `refused`: with `unlessPaused` and `unlessRefused` alone; the node is as it was.
 */
export type TerminationEnd =
  { readonly state: 'ended' | 'elsewhere' } | { readonly state: 'paused' | 'refused'; readonly why: string };

/**
 * Starts the NodeClaim's only `terminateNode` and waits for its end. It continues if the caller ends. If it is
 * terminated or cancelled by hand, it is started again with the same reason and deadline, because the deletion of its
 * NodeClaim cannot be undone (termination/started-anew).
 */
export async function runTermination(input: TerminationRequest): Promise<TerminationEnd> {
  for (;;) {
    try {
      const { outcome, why = '' } = await executeChild<typeof terminateNode>('terminateNode', {
        ...optionsFor(input, `${input.claim.name}: ${input.reason}`),
        // A drain cannot be undone, so it continues if the caller is cancelled.
        cancellationType: ChildWorkflowCancellationType.ABANDON,
      });
      return outcome === 'paused' || outcome === 'refused' ? { state: outcome, why } : { state: 'ended' };
    } catch (error) {
      if (isStartedAlready(error)) return { state: 'elsewhere' };
      if (!isEndedByHand(error)) throw error;
      log.warn('a termination was ended by hand: starting it again', { nodeClaim: input.claim.name });
    }
  }
}

function isEndedByHand(error: unknown): boolean {
  if (!(error instanceof ChildWorkflowFailure) || CancellationScope.current().consideredCancelled) return false;
  return error.cause instanceof TerminatedFailure || error.cause instanceof CancelledFailure;
}

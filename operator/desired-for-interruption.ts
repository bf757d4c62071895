import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations } from '../api/labels.js';
import { interruptionNoteOf } from '../cluster/interruption-note.js';
import { identityOf } from '../cluster/node-labels.js';
import { conditionOf } from '../core/conditions.js';
import { workflowIds, parseWorkflowId } from '../core/ids.js';
import { isHint } from '../core/interruption-kinds.js';
import type { HandleInterruptionInput, InterruptionNotice } from '../workflows/messages.js';
import type { ObservedCluster, WorkflowStart } from './observed-cluster.js';

/**
 * Rule `interruption/restarted`: the message of the queue is gone once its workflow has it, but the node says which notice it was and when, and so
 * does the claim once the workflow has tainted it. The node stays no longer than that workflow would have let it.
 */
export function interruptionOf(observed: ObservedCluster, claim: NodeClaim): readonly WorkflowStart[] {
  const { cluster } = observed;
  const notice = noticeOnNode(observed, claim) ?? noticeOnClaim(observed, claim);
  if (notice === undefined) return [];
  const { kind, instanceId } = notice;
  const input: HandleInterruptionInput = { cluster, instanceId, notices: [notice] };
  return [
    {
      workflowId: workflowIds.interrupt(cluster, instanceId),
      type: 'handleInterruption',
      input,
      summary: `${instanceId}: ${kind}`,
      afterCompletion: 'startAgain',
    },
  ];
}
/** The notice that the node has had since it was taken in. */
function noticeOnNode(observed: ObservedCluster, claim: NodeClaim): InterruptionNotice | undefined {
  const note = interruptionNoteOf(observed.nodeOf(claim));
  const instanceId = claim.status?.providerID?.split('/').at(-1) ?? '';
  if (note === undefined || instanceId === '') return undefined;
  return { ...note, instanceId, messageId: `${identityOf(claim).uid} ${note.kind}` };
}
/** The notice that the claim's taint stands for; undefined where the node may stay. */
function noticeOnClaim({ cluster }: ObservedCluster, claim: NodeClaim): InterruptionNotice | undefined {
  const owner = parseWorkflowId(claim.metadata.annotations?.[annotations.disruptionOwner] ?? '');
  const instanceId = owner?.subject[0];
  if (owner?.kind !== 'interrupt' || owner.cluster !== cluster || instanceId === undefined) return undefined;
  const { kind, at } = taintReasonOf(claim) ?? {};
  if (kind === undefined || at === undefined || isHint(kind)) return undefined;
  return { kind, instanceId, at, messageId: `${identityOf(claim).uid} ${kind}` };
}
/** Why its node was tainted, and when. */
function taintReasonOf({ status }: NodeClaim): { readonly kind: string; readonly at: number } | undefined {
  const mark = conditionOf(status?.conditions, 'DisruptionReason');
  const at = Date.parse(mark?.lastTransitionTime ?? '');
  return mark?.status !== 'True' || mark.reason === undefined || Number.isNaN(at)
    ? undefined
    : { kind: mark.reason, at };
}

import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { notify } from '../calls/other-workflows.js';
import { setSignalHandler } from '../handlers.js';
import type { Decision } from '../messages.js';
import { steeredSignal, steerSignal } from '../messages.js';

/** How long evictions wait for steering. Without it pods may land elsewhere than planned, which does no harm. */
const steeredWithinMs = 2_000;

/**
 * Steers evicted pods to the planned nodes. Without that, kube-scheduler may place the pods that replace them on any
 * node.
 */
export async function steerPodsTo(cluster: string, nodes: Decision['targets']): Promise<void> {
  const { workflowId } = workflowInfo();
  const targets = nodes.map(({ node }) => node);
  let isSteered = false;
  setSignalHandler(steeredSignal, () => void (isSteered = true));
  const disrupt = getExternalWorkflowHandle(workflowIds.disrupt(cluster));
  const isDelivered = await notify(() => disrupt.signal(steerSignal, { workflowId, targets }));
  if (isDelivered) await condition(() => isSteered, steeredWithinMs, { summary: 'pods to be steered' });
}

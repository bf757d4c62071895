import type { WorkflowHandle } from '@temporalio/client';
import type { PlanNodesInput } from '../../activities/provisioning/contract.js';
import { workflowIds } from '../../core/ids.js';
import { podsPendingSignal } from '../../workflows/messages.js';
import type { FakeActivities } from './fake-activities.js';
import { cluster } from './rig.js';
import type { WorkflowRig } from './rig.js';

/** The entity that launches nodes for pods and in place of others. */
export const startProvision = (rig: WorkflowRig): Promise<WorkflowHandle> =>
  rig.start('provision', workflowIds.provision(cluster), { cluster });

/** The entity that knows which nodes may go. */
export const startDisrupt = (rig: WorkflowRig): Promise<WorkflowHandle> =>
  rig.start('disrupt', workflowIds.disrupt(cluster), { cluster });

/** The nodes that the next batch of `provision` plans without: those that it takes for gone. */
export async function plannedWithout(rig: WorkflowRig, activities: FakeActivities): Promise<readonly string[]> {
  const batches = () => activities.inputsOf<PlanNodesInput>('planNodes');
  const before = batches().length;
  await rig.client.workflow.getHandle(workflowIds.provision(cluster)).signal(podsPendingSignal);
  await rig.sleep('2 seconds');
  await rig.until(() => batches().length > before);
  return batches()[before]!.without;
}

import type { WorkflowHandle } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import { cluster, type WorkflowRig } from './rig.js';

/** The entity that launches nodes for pods and in place of others, with Karpenter's batch window. */
export const startProvision = (rig: WorkflowRig): Promise<WorkflowHandle> =>
  rig.start('provision', workflowIds.provision(cluster), { cluster, window: { idleMs: 1000, maxMs: 10_000 } });

/** The entity that knows which nodes may go. */
export const startDisrupt = (rig: WorkflowRig): Promise<WorkflowHandle> =>
  rig.start('disrupt', workflowIds.disrupt(cluster), { cluster });

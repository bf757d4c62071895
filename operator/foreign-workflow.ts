import type { WorkflowExecutionDescription } from '@temporalio/client';
import { taskQueues } from '../workflows/messages.js';

/** A workflow of somebody else, in the same namespace, with an id of ours. */
export interface ForeignWorkflow {
  readonly workflowId: string;
  readonly type: string;
  readonly taskQueue: string;
}

/** Whether an open workflow is somebody else's: what is on our task queues is ours, by whoever it was started. */
export function foreignIn(
  description: WorkflowExecutionDescription | undefined,
  cluster: string,
): ForeignWorkflow | undefined {
  if (description?.status.name !== 'RUNNING') return undefined;
  const { workflowId, type, taskQueue } = description;
  return Object.values(taskQueues(cluster)).includes(taskQueue) ? undefined : { workflowId, type, taskQueue };
}

/** What a person is told of it. */
export const foreignReason = ({ type, taskQueue }: ForeignWorkflow): string =>
  `its id is taken by a workflow of type ${type} on task queue ${taskQueue}, which is none of Stowage's`;
/** What a person can do. */
export const foreignRemedy = 'terminate it, or give this cluster another CLUSTER_NAME: what is due is started within two minutes'; // prettier-ignore

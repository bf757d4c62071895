import type { WorkflowExecutionDescription } from '@temporalio/client';
import { taskQueues } from '../workflows/messages.js';

/** A workflow of another application in the same namespace, with an id of Stowage. */
export interface ForeignWorkflow {
  readonly workflowId: string;
  readonly type: string;
  readonly taskQueue: string;
}

/**
 * Whether an open workflow belongs to another application: those on Stowage's task queues do not, however they were
 * started.
 */
export function foreignIn(
  description: WorkflowExecutionDescription | undefined,
  cluster: string,
): ForeignWorkflow | undefined {
  if (description?.status.name !== 'RUNNING') return undefined;
  const { workflowId, type, taskQueue } = description;
  return Object.values(taskQueues(cluster)).includes(taskQueue) ? undefined : { workflowId, type, taskQueue };
}

/** The message about it. */
export const foreignReason = ({ type, taskQueue }: ForeignWorkflow): string =>
  `its id is taken by a workflow of type ${type} on task queue ${taskQueue}, which does not belong to Stowage`;
/** The fix. */
export const foreignRemedy = 'terminate it, or give this cluster another CLUSTER_NAME: what is due is started within two minutes'; // prettier-ignore

import type { Priority } from '@temporalio/common';
import { startAttributes, type WorkflowSubject } from './search-attributes.js';
import { startDetails } from './start-details.js';

export type TaskQueue = 'control' | 'packing' | 'cloud' | 'drain' | 'urgent';

/**
 * Task queues of a cluster. They are separate so that an interruption waits behind nothing else, and a termination not
 * behind launches:
 * - `urgent`: workflows of interruptions and terminations, and every activity of an interruption.
 * - `drain`: activities of all other terminations until the instance is to end.
 * - `control`: all other workflows, and their calls to Kubernetes.
 * - `cloud`: launches and ends of instances, at a limited rate.
 * - `packing`: activities that compute plans.
 */
export function taskQueues(cluster: string): Readonly<Record<TaskQueue, string>> {
  return {
    control: `${cluster}/control`,
    packing: `${cluster}/packing`,
    cloud: `${cluster}/cloud`,
    drain: `${cluster}/drain`,
    urgent: `${cluster}/urgent`,
  };
}

/** Workflow types that run on the `urgent` queue. */
const urgentWorkflows: ReadonlySet<string> = new Set(['handleInterruption', 'terminateNode']);
/**
 * Workflow types with priority in their queue, if the server supports priorities: lower keys come first, and the
 * default is 3.
 */
const sooner: ReadonlySet<string> = new Set([...urgentWorkflows, 'provision', 'repairNode']);
/** The server's limit, bytes. */
const longestFairnessKey = 64;

/**
 * Priority of a workflow, which its activities inherit. The fairness key shares the limited rate of the queue `cloud`
 * between the launches of different NodePools. Servers without priorities or fairness ignore both.
 */
function priorityOf(type: string, { nodePool }: { readonly nodePool?: string }): Priority {
  return {
    ...(sooner.has(type) ? { priorityKey: 2 } : {}),
    ...(nodePool === undefined ? {} : { fairnessKey: nodePool.slice(0, longestFairnessKey) }),
  };
}

/**
 * Task queue, priority, search attributes and static details for starting a workflow of this type. `details`: what the
 * static details say before guidance and links.
 */
export function startOptions(
  type: string,
  input: WorkflowSubject,
  { namespace, details }: { readonly namespace: string; readonly details?: string | undefined },
): { readonly taskQueue: string; readonly priority: Priority; readonly staticDetails: string } & ReturnType<
  typeof startAttributes
> {
  const { control, urgent } = taskQueues(input.cluster);
  return {
    taskQueue: urgentWorkflows.has(type) ? urgent : control,
    priority: priorityOf(type, input),
    staticDetails: startDetails(type, input, namespace, details),
    ...startAttributes(type, input),
  };
}

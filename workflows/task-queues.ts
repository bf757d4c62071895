import type { Priority } from '@temporalio/common';
import { startAttributes } from './search-attributes.js';

export type TaskQueue = 'control' | 'packing' | 'cloud' | 'drain' | 'urgent';

/**
 * Task queues of a cluster. They are separate so that an interruption waits behind nothing else, and a termination not
 * behind launches:
 * - `urgent`: workflows of interruptions and terminations, and every activity of an interruption.
 * - `drain`: activities of all other terminations.
 * - `control`: all other workflows, and their calls to Kubernetes.
 * - `cloud`: launches and the upkeep of the cloud, at a limited rate.
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
export function priorityOf(
  type: string,
  { nodePool }: { readonly nodePool?: string },
): { readonly priority: Priority } {
  return {
    priority: {
      ...(sooner.has(type) ? { priorityKey: 2 } : {}),
      ...(nodePool === undefined ? {} : { fairnessKey: nodePool.slice(0, longestFairnessKey) }),
    },
  };
}

/** Task queue, priority and search attributes for starting a workflow of this type. */
export function startOptions(
  type: string,
  input: { readonly cluster: string; readonly nodePool?: string },
): { readonly taskQueue: string; readonly priority: Priority } & ReturnType<typeof startAttributes> {
  const { control, urgent } = taskQueues(input.cluster);
  return {
    taskQueue: urgentWorkflows.has(type) ? urgent : control,
    ...priorityOf(type, input),
    ...startAttributes(type, input),
  };
}

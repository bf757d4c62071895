import type { Priority } from '@temporalio/common';
import { startAttributes } from './search-attributes.js';

export type TaskQueue = 'control' | 'packing' | 'cloud' | 'drain' | 'urgent';

/**
 * Task queues of a cluster. They are separate so that an interruption waits behind nothing else, and a termination not behind
 * launches:
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

/** Workflow types that run on the `urgent` queue, with their Temporal priority keys (lower runs first). */
const urgentWorkflows: ReadonlyMap<string, number> = new Map([
  ['handleInterruption', 2],
  ['terminateNode', 2],
]);

/** Task queue, priority and search attributes for starting a workflow of this type. Temporal servers without priorities ignore the key. */
export function startOptions(
  type: string,
  input: { readonly cluster: string },
): { readonly taskQueue: string; readonly priority?: Priority } & ReturnType<typeof startAttributes> {
  const priorityKey = urgentWorkflows.get(type);
  const { control, urgent } = taskQueues(input.cluster);
  const attributes = startAttributes(type, input);
  return priorityKey === undefined
    ? { taskQueue: control, ...attributes }
    : { taskQueue: urgent, priority: { priorityKey }, ...attributes };
}

import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';

const because = 'stowage uninstall';
/** New workflows appear in visibility with a delay. */
const quietPolls = 3;
const pollMs = 1000;

/** Terminates every workflow of the cluster, until several consecutive lists are empty. Returns their number. */
export async function terminateWorkflows(client: Client, cluster: string): Promise<number> {
  const ended = new Set<string>();
  const entities = [workflowIds.provision, workflowIds.disrupt, workflowIds.offerings].map((of) => of(cluster));
  for (const id of entities) if (await terminate(client, id)) ended.add(id);
  for (let quiet = 0; quiet < quietPolls;) {
    const running = await runningOf(client, cluster);
    for (const id of running) if (await terminate(client, id)) ended.add(id);
    quiet = running.length === 0 ? quiet + 1 : 0;
    await delay(pollMs);
  }
  return ended.size;
}

async function runningOf(client: Client, cluster: string): Promise<string[]> {
  const query = `WorkflowId STARTS_WITH '${`${cluster}/`.replaceAll("'", "''")}' AND ExecutionStatus = 'Running'`;
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
  return ids;
}

/** False if it is not running any more. */
async function terminate(client: Client, workflowId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).terminate(because);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { observe } from '../../tools/stack/demo/observe.js';

/** How a workflow is lost: it was terminated by hand, it failed, or the server has no trace of it. */
export type Loss = 'terminated' | 'failed' | 'wiped';

const reason = 'containment test';
const patience = { withinMs: 30_000 };

export async function loseWorkflow(client: Client, workflowId: string, loss: Loss): Promise<void> {
  if (loss === 'terminated') await client.workflow.getHandle(workflowId).terminate(reason);
  else if (loss === 'failed') await fail(client, workflowId);
  else await wipe(client, workflowId);
}

/** In place of the run that is open one that a worker of the test fails. */
async function fail(client: Client, workflowId: string): Promise<void> {
  const workflow = client.workflow.getHandle(workflowId);
  const { type, startTime } = await workflow.describe();
  // The server takes no second run of an id within a second.
  await observe('The run being older', () => Promise.resolve(Date.now() - startTime.getTime() > 2000), patience);
  await workflow.terminate(reason);
  const taskQueue = `fails-${randomUUID()}`;
  await client.workflow.start(type, { workflowId, taskQueue });
  const { namespace } = client.options;
  const poll = { namespace, taskQueue: { name: taskQueue }, identity: reason };
  // The server answers no poll that has no end.
  const { taskToken } = await client.withDeadline(Date.now() + patience.withinMs, () =>
    client.workflowService.pollWorkflowTaskQueue(poll),
  );
  const failure = { message: reason, applicationFailureInfo: { type: reason } };
  const command = {
    commandType: proto.temporal.api.enums.v1.CommandType.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
    failWorkflowExecutionCommandAttributes: { failure },
  };
  await client.workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [command] });
}

/** As a namespace that is wiped: the run is gone with its history. */
async function wipe(client: Client, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
}

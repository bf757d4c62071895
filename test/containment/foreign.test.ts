import { expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { searchAttributes, taskQueues } from '../../workflows/messages.js';
import { createDefaultPool, deploy } from '../live/world.js';
import { large, sharedContainment } from './containment.js';

// The namespace is shared with applications that know nothing of Stowage, and with people who start workflows by hand.

const on = sharedContainment(createDefaultPool);

async function eventsOf(app: string): Promise<string> {
  const events = await on.world.kube.list('Event', { namespace: 'default' });
  return events
    .filter(({ involvedObject }) => involvedObject.name?.startsWith(`${app}-`) === true)
    .map(({ message }) => message ?? '')
    .join('\n');
}

test("another application's workflow with the cluster's search attributes disrupts no node", async () => {
  await on.client.workflow.start('importOrders', {
    workflowId: 'orders/1',
    taskQueue: 'orders',
    typedSearchAttributes: [{ key: searchAttributes.cluster, value: on.cluster }],
  });
  await deploy(on.world, 'beside', large);
  await on.runs('beside');
  expect(await on.isOpen('orders/1')).toBe(true);
  await on.workflow('orders/1').terminate('containment test');
});

test("Stowage's workflows that are started by hand with invalid input fail at once and name the invalid field", async () => {
  for (const [type, input, why] of [
    ['launchNode', 'nonsense', 'the payload is "nonsense"'],
    [
      'terminateNode',
      { cluster: on.cluster, claim: { name: 'n' }, nodePool: 'p', reason: 'r' },
      'claim.uid is missing',
    ],
    ['provision', {}, 'cluster is missing'],
  ] as const) {
    const started = await on.client.workflow.start(type, {
      workflowId: `by-hand/${type}`,
      taskQueue: taskQueues(on.cluster).control,
      args: [input],
    });
    await expect(started.result()).rejects.toMatchObject({
      cause: { type: 'Invalid', nonRetryable: true, message: expect.stringContaining(why) },
    });
  }
});

test('where another application runs a workflow under an id of Stowage, what waits for that id names the other workflow, and goes on once the id is free', async () => {
  const provision = on.workflow(workflowIds.provision(on.cluster));
  await on.client.workflow.start('importOrders', {
    workflowId: provision.workflowId,
    taskQueue: 'orders',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
  });
  await deploy(on.world, 'taken', large);
  const whose = /its id is taken by a workflow of type importOrders on task queue orders/;
  await on.until('Event of the pod', async () => whose.test(await eventsOf('taken')), 180);

  await provision.terminate('containment test');
  await on.runs('taken');
});

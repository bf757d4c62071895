import { expect, test } from '@jest/globals';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { taskQueues } from '../workflows/messages.js';
import { foreignIn } from './foreign-workflow.js';

const described = (taskQueue: string, status = 'RUNNING') =>
  ({
    workflowId: 'c/provision',
    type: 'importOrders',
    taskQueue,
    status: { name: status },
  }) as WorkflowExecutionDescription;

test("an open workflow on a task queue of another application is not the cluster's", () => {
  const other = { workflowId: 'c/provision', type: 'importOrders', taskQueue: 'orders' };
  expect(foreignIn(described('orders'), 'c')).toEqual(other);
  expect(foreignIn(described(taskQueues('d').control), 'c')).toMatchObject({ taskQueue: 'd/control' });

  for (const queue of Object.values(taskQueues('c'))) expect(foreignIn(described(queue), 'c')).toBeUndefined();
  expect(foreignIn(described('orders', 'COMPLETED'), 'c')).toBeUndefined();
  expect(foreignIn(undefined, 'c')).toBeUndefined();
});

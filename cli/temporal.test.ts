import { expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { ordered, type TemporalTarget } from './temporal.js';

const client = (describe: () => object): TemporalTarget['client'] =>
  ({
    connection: { withDeadline: async (_: number, call: () => unknown) => Promise.resolve(call()) },
    workflow: { getHandle: () => ({ describe }) },
  }) as unknown as TemporalTarget['client'];

const attributes = (phase: string | undefined): object => ({ get: () => phase });
const closed = new Date('2026-01-05T12:00:00Z');

test.each<[string, () => object, string]>([
  [
    'that has closed',
    () => ({ closeTime: closed, typedSearchAttributes: attributes('rejected') }),
    ': it ended at 2026-01-05T12:00:00Z (rejected)',
  ],
  [
    'that closed without a phase',
    () => ({ closeTime: closed, typedSearchAttributes: attributes(undefined) }),
    ': it ended at 2026-01-05T12:00:00Z',
  ],
  [
    'that does not exist',
    () => {
      throw new Error('workflow not found');
    },
    ' (stowage status shows what is under way)',
  ],
])('an order to a workflow %s fails with what Temporal knows of it', async (_, describe, known) => {
  const target = { client: client(describe), cluster: 'prod' };
  const order = ordered(target, 'prod/consolidate/1', () =>
    Promise.reject(new WorkflowNotFoundError('gone', 'prod/consolidate/1', undefined)),
  );
  await expect(order).rejects.toThrow(
    expect.objectContaining({ message: `prod/consolidate/1: no such workflow is running${known}` }),
  );
});

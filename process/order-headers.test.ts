import { describe, expect, test } from '@jest/globals';
import { defaultPayloadConverter } from '@temporalio/common';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { orderHeaders } from '../core/orders.js';
import { sendOrderPolicy, vouchForOrders } from './order-headers.js';

type SignalInput = Parameters<NonNullable<WorkflowClientInterceptor['signal']>>[0];

/** What a call has in a header after the interceptor. */
async function headerOf(
  interceptor: WorkflowClientInterceptor,
  name: string,
  signalName: string,
  order?: unknown,
): Promise<unknown> {
  let found: unknown;
  const input = { signalName, args: [order], headers: {}, workflowExecution: { workflowId: 'w' } } as SignalInput;
  await interceptor.signal!(input, ({ headers }) => {
    found = headers[name] === undefined ? undefined : defaultPayloadConverter.fromPayload(headers[name]);
    return Promise.resolve();
  });
  return found;
}

describe('headers of orders (authorization/policy)', () => {
  test('of every signal of the operator have the policy', async () => {
    expect(await headerOf(sendOrderPolicy('Authorised'), orderHeaders.policy, 'clusterChanged')).toBe('Authorised');
  });

  test.each([
    ['an order of whom Kubernetes authenticated', 'approve', { actor: 'ann' }, 'kubernetes'],
    ['one that went on without Kubernetes', 'approve', { actor: 'ann@laptop (not authenticated)' }, undefined],
    ['what is no order', 'clusterChanged', undefined, undefined],
  ])('of the command authenticate %s: %s %j', async (_, name, order, header) => {
    expect(await headerOf(vouchForOrders, orderHeaders.vouched, name, order)).toBe(header);
  });
});

import { beforeEach, describe, expect, test } from '@jest/globals';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Headers } from '@temporalio/workflow';
import { orderHeaders } from '../../core/orders.js';
import { orderOrigin } from './order-origin.js';

const headers = (of: Readonly<Record<string, string>>): Headers =>
  Object.fromEntries(Object.entries(of).map(([name, text]) => [name, defaultPayloadConverter.toPayload(text)]));
const byOperator = (policy: string): Headers => headers({ [orderHeaders.policy]: policy });
const vouched = headers({ [orderHeaders.vouched]: 'kubernetes' });
const approve = { actor: 'ann', reason: 'release' };

describe('orders by their way to a workflow (authorization/policy)', () => {
  let origin: ReturnType<typeof orderOrigin>;
  let heard: unknown[];
  beforeEach(() => {
    origin = orderOrigin();
    heard = [];
  });
  const hear = ({ args }: { args: unknown[] }): Promise<void> => Promise.resolve(void heard.push(args[0]));
  const signal = (signalName: string, order: unknown, by: Headers = {}): Promise<void> =>
    origin.inbound.handleSignal!({ signalName, args: [order], headers: by }, hear);
  const update = (order: unknown, by: Headers = {}): void => {
    const input = { updateId: 'u', name: 'approve', args: [order], headers: by };
    origin.inbound.validateUpdate!(input, () => undefined);
    void origin.inbound.handleUpdate!(input, hear);
  };

  test('an order that Kubernetes authorised is taken unchanged', async () => {
    await signal('approve', approve, vouched);
    update(approve, vouched);
    expect(heard).toEqual([approve, approve]);
  });

  test('an order sent to Temporal directly is marked', async () => {
    await signal('approve', approve, byOperator('Any'));
    update(approve);
    const marked = { ...approve, actor: 'ann (not authenticated)' };
    expect(heard).toEqual([marked, marked]);
  });

  test('orders are taken unchanged until the operator has sent a policy', async () => {
    await signal('approve', approve);
    update(approve);
    expect(heard).toEqual([approve, approve]);
  });

  test('under Authorised an order sent directly is refused, until the policy changes', async () => {
    await signal('clusterChanged', undefined, byOperator('Authorised'));
    expect(() => update(approve)).toThrow(expect.objectContaining({ type: 'NotAuthorised' }));
    update(approve, vouched);
    await signal('clusterChanged', undefined, byOperator('Any'));
    update(approve);
    expect(heard.slice(1)).toEqual([approve, undefined, { ...approve, actor: 'ann (not authenticated)' }]);
  });

  test('under AuthorisedForce, the default, one with force is refused, and others are marked', async () => {
    await signal('clusterChanged', undefined, byOperator('AuthorisedForce'));
    expect(() => update({ ...approve, force: true })).toThrow(expect.objectContaining({ type: 'NotAuthorised' }));
    update({ ...approve, force: true }, vouched);
    update({ ...approve, force: false });
    expect(heard.slice(1)).toEqual([
      { ...approve, force: true },
      { ...approve, force: false, actor: 'ann (not authenticated)' },
    ]);
  });

  test('signals between workflows with the name of an order are no orders', async () => {
    await signal('clusterChanged', undefined, byOperator('Authorised'));
    await signal('hold', true);
    await signal('expedite', { deadline: 5 });
    expect(heard).toEqual([undefined, true, { deadline: 5 }]);
  });

  test('an unknown policy changes nothing', async () => {
    await signal('clusterChanged', undefined, byOperator('Authorised'));
    await signal('clusterChanged', undefined, byOperator('Everybody'));
    expect(() => update(approve)).toThrow(/ORDER_POLICY/);
  });

  test('the policy is passed to children, to the next run and with signals, which are authenticated', async () => {
    const passed: Headers[] = [];
    const take = (input: { headers: Headers }): Promise<never> => {
      passed.push(input.headers);
      return Promise.resolve(undefined as never);
    };
    await origin.inbound.execute!({ args: [], headers: byOperator('Authorised') }, () => Promise.resolve());
    const { startChildWorkflowExecution, continueAsNew, signalWorkflow } = origin.outbound;
    const child = { headers: {} } as Parameters<NonNullable<typeof startChildWorkflowExecution>>[0];
    expect(await startChildWorkflowExecution!(child, take)).toBe(undefined);
    await continueAsNew!({ headers: {} } as Parameters<NonNullable<typeof continueAsNew>>[0], take);
    await signalWorkflow!({ headers: {} } as Parameters<NonNullable<typeof signalWorkflow>>[0], take);

    const policy = byOperator('Authorised');
    expect(passed).toEqual([policy, policy, { ...policy, ...headers({ [orderHeaders.vouched]: 'workflow' }) }]);
  });
});

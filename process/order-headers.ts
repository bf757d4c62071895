import { defaultPayloadConverter } from '@temporalio/common';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { isAuthenticated, orderHeaders, orderOfPerson, type OrderPolicy } from '../core/orders.js';

type Header = ReturnType<typeof defaultPayloadConverter.toPayload>;
interface Call {
  readonly headers: Readonly<Record<string, Header>>;
}

const withHeader = <Input extends Call>(input: Input, name: string, value: string): Input => ({
  ...input,
  headers: { ...input.headers, [name]: defaultPayloadConverter.toPayload(value) },
});

/** Adds the order policy to every call, which workflows remember (authorization/policy). */
export function sendOrderPolicy(policy: OrderPolicy): WorkflowClientInterceptor {
  const said = <Input extends Call>(input: Input): Input => withHeader(input, orderHeaders.policy, policy);
  return {
    startWithDetails: (input, next) => next(said(input)),
    signal: (input, next) => next(said(input)),
    signalWithStart: (input, next) => next(said(input)),
  };
}

/** Marks orders of actors that Kubernetes authenticated and authorized (authorization/orders). */
export const vouchForOrders: WorkflowClientInterceptor = {
  signal: (input, next) => next(vouchedFor(input.signalName, input)),
  startUpdate: (input, next) => next(vouchedFor(input.updateName, input)),
};

function vouchedFor<Input extends Call & { readonly args: readonly unknown[] }>(name: string, input: Input): Input {
  const order = orderOfPerson(name, input.args);
  return order !== undefined && isAuthenticated(order.actor)
    ? withHeader(input, orderHeaders.vouched, 'kubernetes')
    : input;
}

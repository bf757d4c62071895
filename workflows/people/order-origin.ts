import type { Headers, WorkflowInboundCallsInterceptor, WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';
import { defaultPayloadConverter } from '@temporalio/common';
import type { OrderPolicy } from '../../core/orders.js';
import { orderHeaders, orderPolicies, orderOfPerson, refusesDirect, unauthenticated } from '../../core/orders.js';
import { noteIgnoredSignal } from '../handlers.js';
import { refusals } from '../messages.js';
import { refuse } from './orders.js';

const why = (policy: OrderPolicy | undefined): string =>
  `it was sent to Temporal directly, and ORDER_POLICY is ${policy}: give it by the stowage command, which asks Kubernetes whether you may`;

interface Call {
  readonly headers: Headers;
}

/**
 * Marks orders that Kubernetes did not authorise, and refuses them where the policy says so (authorization/policy). The
 * policy comes in headers of the operator's calls, so that it is in the history and every replay decides the same. Each
 * workflow passes it on to the workflows that it starts and signals. While it is unknown, as in runs that an earlier
 * release began, orders are accepted unmarked.
 */
export function orderOrigin(): {
  readonly inbound: WorkflowInboundCallsInterceptor;
  readonly outbound: WorkflowOutboundCallsInterceptor;
} {
  let policy: OrderPolicy | undefined;
  // Not from updates, because a refused update is not in the history, so that a replay would not have its headers.
  const readPolicy = ({ headers }: Call): void => void (policy = policyIn(headers) ?? policy);
  const passedOn = <Input extends Call>(input: Input, more: Headers = {}): Input => ({
    ...input,
    headers: { ...input.headers, ...(policy && { [orderHeaders.policy]: toPayload(policy) }), ...more },
  });
  const vouched = { [orderHeaders.vouched]: toPayload('workflow') };
  return {
    inbound: {
      execute: (input, next) => {
        readPolicy(input);
        return next(input);
      },
      handleSignal: (input, next) => {
        readPolicy(input);
        if (policy === undefined || !isDirect(input.signalName, input)) return next(input);
        if (!refusesDirect(policy, input.args)) return next(marked(input));
        noteIgnoredSignal(input.signalName, why(policy));
        return Promise.resolve();
      },
      validateUpdate: (input, next) => {
        if (isDirect(input.name, input) && refusesDirect(policy, input.args))
          throw refuse(refusals.notAuthorised, why(policy));
        next(input);
      },
      handleUpdate: (input, next) => next(policy !== undefined && isDirect(input.name, input) ? marked(input) : input),
    },
    outbound: {
      startChildWorkflowExecution: (input, next) => next(passedOn(input)),
      continueAsNew: (input, next) => next(passedOn(input)),
      signalWorkflow: (input, next) => next(passedOn(input, vouched)),
    },
  };
}

/** Whether it is an order of a person that did not come through the `stowage` command. */
const isDirect = (name: string, { headers, args }: Call & { readonly args: readonly unknown[] }): boolean =>
  headers[orderHeaders.vouched] === undefined && orderOfPerson(name, args) !== undefined;

function marked<Input extends { readonly args: unknown[] }>(input: Input): Input {
  const [order, ...others] = input.args as [{ readonly actor: string }, ...unknown[]];
  return { ...input, args: [{ ...order, actor: unauthenticated(order.actor) }, ...others] };
}

const toPayload = (text: string): Headers[string] => defaultPayloadConverter.toPayload(text);

/** A header with an unknown policy is ignored. */
function policyIn(headers: Headers): OrderPolicy | undefined {
  const given = headers[orderHeaders.policy];
  if (given === undefined) return undefined;
  const text: unknown = defaultPayloadConverter.fromPayload(given);
  return orderPolicies.find((each) => each === text);
}

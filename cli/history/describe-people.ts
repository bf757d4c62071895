import type { HoldOrder, Order } from '../../workflows/messages.js';
import { attributeOf, byText, fieldsOf, phaseOf } from './read-fields.js';
import type { Step } from './records.js';
import type { Describer } from './describer.js';

const orders: ReadonlyMap<string, string> = new Map([
  ['approve', 'approved'],
  ['reject', 'rejected'],
  ['abort', 'aborted'],
  ['retry', 'tried again, as ordered'],
  ['expedite', 'expedited'],
]);

/** Messages of users to any workflow: approvals, orders, pauses. */
export function peopleDescriber(): Describer {
  let isAnswered = false;
  return (step) => {
    if (step.is === 'message') {
      const told = orderText(step.name, step.input);
      if (told !== undefined && (step.name === 'approve' || step.name === 'reject')) isAnswered = true;
      return told;
    }
    if (attributeOf(step, 'awaitingApproval') === true) {
      isAnswered = false;
      return 'a person is asked for approval';
    }
    return pauseText(step) ?? defaultText(step, isAnswered);
  };
}

function orderText(name: string, input: unknown): string | undefined {
  if (name === 'hold') return typeof input === 'boolean' ? undefined : holdText(fieldsOf<HoldOrder>(input));
  const what = orders.get(name);
  if (what === undefined) return undefined;
  const { actor, reason } = fieldsOf<Order>(input);
  // Orders without an actor are refused; workflows expedite each other without one.
  if (typeof actor !== 'string' && name !== 'expedite') return undefined;
  return `${what} by ${byText(actor, reason)}`;
}

const holdText = ({ on, actor, reason }: Partial<HoldOrder>): string | undefined =>
  typeof actor !== 'string' ? undefined : `${on === false ? 'released' : 'held'} by ${byText(actor, reason)}`;

function pauseText(step: Step): string | undefined {
  const paused = attributeOf(step, 'paused');
  if (paused === true) return 'waits: held by a pause or by a person';
  return paused === false ? 'goes on' : undefined;
}

function defaultText(step: Step, isAnswered: boolean): string | undefined {
  const phase = phaseOf(step);
  if (isAnswered || (phase !== 'approved' && phase !== 'rejected')) return undefined;
  return `${phase}, for nobody answered in time`;
}

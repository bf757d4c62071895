import { ApplicationFailure, log } from '@temporalio/workflow';
import type { Order, Refusal } from './messages.js';
import { refusals } from './messages.js';
import type { Progress } from './progress.js';

/** A typed refusal for validators of updates. */
export function refuse(type: Refusal, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** Throws unless whoever orders says who it is. */
export function checkActor(order: Partial<Order> | undefined): void {
  if (typeof order?.actor === 'string' && order.actor.trim() !== '') return;
  throw refuse(refusals.invalid, 'actor is missing: say who orders this, such as {"actor":"ann","reason":"release"}');
}

/**
 * An order that came as a signal, which nobody answers: carried out, or noted where an update of the same words would be
 * refused. Nothing that a person sends may make a workflow stumble.
 */
export function obey(
  progress: Progress,
  name: string,
  { check, act }: { readonly check: () => void; readonly act: () => unknown },
): void {
  try {
    check();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    log.info('an order was not obeyed', { order: name, why: message });
    progress.note({ 'last order refused': `${name}: ${message}` });
    return;
  }
  act();
}

import { ApplicationFailure, log } from '@temporalio/workflow';
import type { Order, Refusal } from './messages.js';
import { refusals } from './messages.js';
import type { Progress } from './progress.js';

/** A typed refusal for validators of updates. */
export function refuse(type: Refusal, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** Orders are kept, carried over and shown: longer words do not fit. */
const longestText = 500;
/** JavaScript's last date. */
const lastTime = 8.64e15;

/** Throws unless whoever orders says who it is, in as many words as fit. */
export function checkActor(order: Partial<Order> | undefined): void {
  if (typeof order?.actor !== 'string' || order.actor.trim() === '')
    throw refuse(refusals.invalid, 'actor is missing: say who orders this, such as {"actor":"ann","reason":"release"}');
  for (const field of ['actor', 'reason'] as const) {
    const text: unknown = order[field];
    if (text !== undefined && typeof text !== 'string')
      throw refuse(refusals.invalid, `${field} is ${JSON.stringify(text).slice(0, 60)}: give a text`);
    if (text !== undefined && text.length > longestText)
      throw refuse(refusals.invalid, `${field} is ${text.length} characters long: at most ${longestText} are allowed`);
  }
}

/** Throws unless the field is absent or a time, milliseconds of the epoch. */
export function checkTime(field: string, at: unknown): void {
  if (at === undefined || (typeof at === 'number' && Math.abs(at) <= lastTime)) return;
  throw refuse(refusals.invalid, `${field} is ${JSON.stringify(at)}: give milliseconds of the epoch`);
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

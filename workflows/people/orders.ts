import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, isCancellation, log } from '@temporalio/workflow';
import { setSignalHandler, setUpdateHandler } from '../handlers.js';
import type { Order, OrderRefusal } from '../messages.js';
import { refusals } from '../messages.js';
import type { Progress } from '../progress.js';
import { messageOf } from '../../core/error-message.js';

/** A typed failure for validators of updates. */
export function refuse(type: OrderRefusal, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}

/** Bounds texts of orders, because they are kept in the state and shown to people. */
const longestText = 500;
/** The latest time that JavaScript can represent, milliseconds of the epoch. */
const lastTime = 8.64e15;

/** Throws unless the order names its actor, within the length allowed. */
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

/** Throws unless the value is a text within the length allowed. */
export function checkText(field: string, value: unknown): void {
  if (typeof value === 'string' && value !== '' && value.length <= longestText) return;
  const found = value === undefined ? 'missing' : JSON.stringify(value).slice(0, 60);
  throw refuse(refusals.invalid, `${field} is ${found}: give a text of at most ${longestText} characters`);
}

/** Throws unless the field is absent or a time, milliseconds of the epoch. */
export function checkTime(field: string, at: unknown): void {
  if (at === undefined || (typeof at === 'number' && Math.abs(at) <= lastTime)) return;
  throw refuse(refusals.invalid, `${field} is ${JSON.stringify(at)}: give milliseconds of the epoch`);
}

/**
 * Throws unless the order confirms with `force` that pods may lose their protection. `broken`: what it would do, in
 * words.
 */
export function checkForce(name: string, { force }: Partial<Order>, broken: string): void {
  if (force === true) return;
  throw refuse(
    refusals.breaksProtection,
    `${broken}; say so with "force": true (stowage ${name} --force), or leave it as it is`,
  );
}

interface WrittenOrder<Payload, Answer> {
  readonly signal: SignalDefinition<[Payload]>;
  readonly update: UpdateDefinition<Answer, [Payload]>;
  /** Throws a refusal if the order is not possible now. */
  readonly check: (order: Payload) => void;
  readonly act: (order: Payload) => Promise<Answer>;
}

/**
 * Sets the handlers of an order that an activity carries out, and may refuse. As a signal and as an update it is
 * checked and carried out alike.
 */
export function handleWrittenOrder<Payload, Answer>(
  progress: Progress,
  { signal, update, check, act }: WrittenOrder<Payload, Answer>,
): void {
  const written = async (order: Payload): Promise<Answer> => {
    try {
      return await act(order);
    } catch (error) {
      // The sender gets the refusal itself, without the activity failure around it.
      if (error instanceof ActivityFailure && error.cause instanceof ApplicationFailure) throw error.cause;
      throw error;
    }
  };
  setUpdateHandler(update, written, check);
  const signalled = async (order: Payload): Promise<void> => {
    let done: Promise<unknown> = Promise.resolve();
    const act = (): void => {
      done = written(order).catch((error: unknown) => {
        if (isCancellation(error)) throw error;
        noteRefused(progress, signal.name, error);
      });
    };
    handleOrderSignal(progress, signal.name, { check: () => check(order), act });
    await done;
  };
  setSignalHandler(signal, signalled);
}

function noteRefused(progress: Progress, name: string, error: unknown): void {
  const message = messageOf(error);
  log.info('an order was not obeyed', { order: name, why: message });
  progress.addFacts({ 'last order refused': `${name}: ${message}` });
}

/**
 * Carries out an order that came as a signal, or notes in `explain` why it is refused: a signal has no answer, and an
 * exception in its handler would block the workflow.
 */
export function handleOrderSignal(
  progress: Progress,
  name: string,
  { check, act }: { readonly check: () => void; readonly act: () => unknown },
): void {
  try {
    check();
  } catch (error) {
    noteRefused(progress, name, error);
    return;
  }
  act();
}

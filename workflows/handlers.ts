import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { ApplicationFailure, log, setHandler } from '@temporalio/workflow';
import { refusals } from './messages.js';
import { malformed } from './payloads.js';
import { described } from './people/descriptions.js';
import { afterEarlySignals, takeEarlySignals } from './early-signals.js';
import { unreadableIn } from './unreadable.js';

/*
 * Sets handlers of signals, queries and updates, with their descriptions for the Temporal UI, and rejects malformed
 * payloads. A test checks that every message has a description.
 */

type Note = (facts: Readonly<Record<string, string>>) => void;

/**
 * Module state belongs to one workflow run, since each run has its own sandbox. `ignored` keeps a signal that came
 * before `Progress` was built.
 */
let note: Note | undefined;
let ignored: string | undefined;

/** Sets where ignored signals are shown. */
export function noteIgnoredSignals(by: Note): void {
  note = by;
  if (ignored !== undefined) note({ 'last signal ignored': ignored });
}

/** Shows that a signal was ignored, and why, because the sender of a signal gets no answer. */
export function noteIgnoredSignal(name: string, why: string): void {
  ignored = `${name}: ${why}`;
  log.warn('a signal is ignored', { signal: name, why });
  note?.({ 'last signal ignored': ignored });
}

/** `handler` is called only with well-formed payloads, and in the order in which the signals came. */
export function setSignalHandler<Args extends unknown[]>(
  signal: SignalDefinition<Args>,
  handler: (...args: NoInfer<Args>) => void | Promise<void>,
): void {
  const checked = (...args: Args): void | Promise<void> => {
    const wrong = unreadableIn(args) ?? malformed(signal.name, args[0]);
    if (wrong === undefined) return handler(...args);
    noteIgnoredSignal(signal.name, wrong);
  };
  takeEarlySignals(signal.name, (args) => checked(...(args as Args)));
  setHandler(signal, checked, described(signal.name));
}

export function setQueryHandler<Answer, Args extends unknown[]>(
  query: QueryDefinition<Answer, Args>,
  handler: (...args: NoInfer<Args>) => Answer,
): void {
  const checked = (...args: Args): Answer => {
    refuseUnreadable(args);
    return handler(...args);
  };
  setHandler(query, checked, described(query.name));
}

/**
 * `validator` throws a typed failure for an order that is impossible now. Temporal then writes nothing to the history.
 */
export function setUpdateHandler<Answer, Args extends unknown[]>(
  update: UpdateDefinition<Answer, Args>,
  handler: (...args: NoInfer<Args>) => Answer | Promise<Answer>,
  validator?: (...args: NoInfer<Args>) => void,
): void {
  const checked = (...args: Args): void => {
    refuseUnreadable(args);
    validator?.(...args);
  };
  afterEarlySignals(() => setHandler(update, handler, { ...described(update.name), validator: checked }));
}

function refuseUnreadable(args: readonly unknown[]): void {
  const wrong = unreadableIn(args);
  if (wrong !== undefined)
    throw ApplicationFailure.create({ type: refusals.invalid, message: wrong, nonRetryable: true });
}

import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { ApplicationFailure, log, setHandler } from '@temporalio/workflow';
import { refusals } from './messages.js';
import { malformed } from './payloads.js';
import { described } from './people/descriptions.js';
import { afterEarlySignals, takeEarlySignals } from './early-signals.js';
import { unreadableIn } from './unreadable.js';

/*
 * The handlers of signals, queries and updates, each with its description for the Temporal UI, found by name. A description
 * lacks nowhere: a test goes through every definition.
 */

type Note = (facts: Readonly<Record<string, string>>) => void;

/** Module state is a workflow run's own. Signals may come before there is anything to note them in. */
let note: Note | undefined;
let ignored: string | undefined;

/** Where `explain` learns of signals that were ignored. */
export function noteIgnoredSignals(by: Note): void {
  note = by;
  if (ignored !== undefined) note({ 'last signal ignored': ignored });
}

/** `handler` sees well-formed payloads alone, and signals in the order in which they came. */
export function setSignalHandler<Args extends unknown[]>(
  signal: SignalDefinition<Args>,
  handler: (...args: NoInfer<Args>) => void | Promise<void>,
): void {
  const checked = (...args: Args): void | Promise<void> => {
    const wrong = unreadableIn(args) ?? malformed(signal.name, args[0]);
    if (wrong === undefined) return handler(...args);
    ignored = `${signal.name}: ${wrong}`;
    log.warn('a malformed signal is ignored', { signal: signal.name, why: wrong });
    note?.({ 'last signal ignored': ignored });
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

/** `validator` throws the typed refusal of what makes no sense now: then nothing is written to the history. */
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

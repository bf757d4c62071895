import { setDefaultSignalHandler } from '@temporalio/workflow';

/*
 * Delivers the signals that arrived before a workflow's first step in the order in which they arrived, once all
 * handlers are set. The SDK would deliver them signal by signal, as each handler is set: of a pause and a resume after
 * it, the one whose handler is set last would win. Module state belongs to one workflow run, since each run has its own
 * sandbox.
 */
const handlers = new Map<string, (args: unknown[]) => void | Promise<void>>();
const afterDelivery: (() => void)[] = [];
let buffered: { readonly name: string; readonly args: unknown[] }[] = [];
let stage: 'before' | 'buffering' | 'delivered' = 'before';

/** Call it before `setHandler` of the SDK, which delivers all signals that have arrived for the handler at once. */
export function takeEarlySignals(name: string, handler: (args: unknown[]) => void | Promise<void>): void {
  handlers.set(name, handler);
  buffer();
  // A handler that is set later gets the signals that had no handler before.
  if (stage === 'delivered') deliver();
}

/** Runs `work` after the early signals are delivered, or at once if they are. */
export function afterEarlySignals(work: () => void): void {
  buffer();
  if (stage === 'delivered') work();
  else afterDelivery.push(work);
}

function buffer(): void {
  if (stage !== 'before') return;
  stage = 'buffering';
  setDefaultSignalHandler((name, ...args) => void buffered.push({ name, args }));
  // All code up to the first await of the workflow has run before this microtask, so that all handlers are set.
  void Promise.resolve().then(() => {
    setDefaultSignalHandler(undefined);
    stage = 'delivered';
    deliver();
    for (const work of afterDelivery.splice(0)) work();
  });
}

function deliver(): void {
  const signals = buffered;
  buffered = [];
  for (const signal of signals) {
    const handler = handlers.get(signal.name);
    if (handler === undefined) buffered.push(signal);
    else void handler(signal.args);
  }
}

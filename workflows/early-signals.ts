import { setDefaultSignalHandler } from '@temporalio/workflow';

/*
 * Signals that came before the first step of a workflow are handed out once it has set its handlers, in the order in which they came. The SDK
 * would hand them out by name, as each handler is set: of a resume and a pause after it, whichever is listened to last would hold.
 * Module state is a workflow run's own.
 */
const handlers = new Map<string, (args: unknown[]) => void | Promise<void>>();
const afterwards: (() => void)[] = [];
let early: { readonly name: string; readonly args: unknown[] }[] = [];
let stage: 'before' | 'collecting' | 'handed out' = 'before';

/** To be called before the SDK hears of the handler: it hands out to that whatever nobody has taken. */
export function takeEarlySignals(name: string, handler: (args: unknown[]) => void | Promise<void>): void {
  handlers.set(name, handler);
  collect();
  // Who begins to listen later gets what was kept for it.
  if (stage === 'handed out') handOut();
}

/** Does what is to come after those signals: at once, where they have been handed out. */
export function afterEarlySignals(work: () => void): void {
  collect();
  if (stage === 'handed out') work();
  else afterwards.push(work);
}

/** For a workflow whose first step is to know of them. */
export const earlySignalsTaken = (): Promise<void> => new Promise(afterEarlySignals);

function collect(): void {
  if (stage !== 'before') return;
  stage = 'collecting';
  setDefaultSignalHandler((name, ...args) => void early.push({ name, args }));
  // What a workflow does up to its first step it does in one go.
  void Promise.resolve().then(() => {
    setDefaultSignalHandler(undefined);
    stage = 'handed out';
    handOut();
    for (const work of afterwards.splice(0)) work();
  });
}

function handOut(): void {
  const given = early;
  early = [];
  for (const each of given) {
    const handler = handlers.get(each.name);
    if (handler === undefined) early.push(each);
    else void handler(each.args);
  }
}

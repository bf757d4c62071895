import { setTimeout as sleep } from 'node:timers/promises';

/** A step of the story that did not happen in time. */
export class NotObserved extends Error {
  override readonly name = 'NotObserved';
}

export interface ObserveOptions {
  /** How long it may take, milliseconds. */
  readonly withinMs: number;
  /** Ends the waiting with this error as soon as it is there: the program under observation died. */
  readonly failure?: () => Error | undefined;
}

/**
 * Between looks, milliseconds. Looks take processor time from what they wait for, here and in the servers that they ask: what takes ten seconds is looked
 * for every second from then on. A look that starts a program takes a processor, and leaves about as much to what is looked at.
 */
const pollMs = { least: 250, usual: 1000, most: 2000 } as const;
const pauseAfter = (lookMs: number, waitedMs: number): number =>
  Math.min(Math.max(lookMs, Math.min(waitedMs / 10, pollMs.usual), pollMs.least), pollMs.most);

/**
 * Looks until `look` sees something, which is neither undefined nor false, and resolves to that. Rejects with `NotObserved`, naming `what` and the last
 * state that `describe` gives, when it does not happen in time.
 */
export async function observe<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  { withinMs, failure }: ObserveOptions,
  describe?: () => Promise<string>,
): Promise<T> {
  const start = Date.now();
  const deadline = start + withinMs;
  for (;;) {
    const began = Date.now();
    const seen = await look();
    const lookMs = Date.now() - began;
    if (seen !== undefined && seen !== false) return seen;
    const failed = failure?.();
    if (failed !== undefined) throw failed;
    if (Date.now() > deadline) {
      const state = describe === undefined ? '' : ` Last seen: ${await describe()}.`;
      throw new NotObserved(`${what} was not observed within ${withinMs / 1000} s.${state}`);
    }
    await sleep(pauseAfter(lookMs, Date.now() - start));
  }
}

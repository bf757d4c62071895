import { AsyncLocalStorage } from 'node:async_hooks';

const urgency = new AsyncLocalStorage<true>();

/** Runs `work` as urgent: rate limiters serve its requests first. */
export function urgently<T>(work: () => T): T {
  return urgency.run(true, work);
}

/** Whether the current code runs as urgent. */
export function isUrgent(): boolean {
  return urgency.getStore() === true;
}

/** All `activities`, run as urgent. */
export function withUrgency<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities as Record<string, (input: unknown) => Promise<unknown>>).map(
    ([name, activity]) => [name, async (input: unknown): Promise<unknown> => urgently(() => activity(input))] as const,
  );
  return Object.fromEntries(wrapped) as T;
}

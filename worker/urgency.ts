import { AsyncLocalStorage } from 'node:async_hooks';

const urgency = new AsyncLocalStorage<true>();

/** Does `work` so that whatever limits requests on its way lets them go first. */
export function urgently<T>(work: () => T): T {
  return urgency.run(true, work);
}

/** Whether this is done on behalf of work that is not to wait behind other work. */
export function isUrgent(): boolean {
  return urgency.getStore() === true;
}

/** Each of `activities`, done urgently. */
export function withUrgency<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities as Record<string, (input: unknown) => Promise<unknown>>).map(
    ([name, activity]) => [name, async (input: unknown): Promise<unknown> => urgently(() => activity(input))] as const,
  );
  return Object.fromEntries(wrapped) as T;
}

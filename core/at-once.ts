/**
 * Runs `work` for all items concurrently and waits for all of them; then throws the first failure. Unlike `Promise.all`
 * it leaves no promise running.
 */
export async function settleAll<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const outcomes = await Promise.allSettled(items.map(work));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** Runs `work` for one item after the other, even after failures; then throws the first failure. */
export async function settleInTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Concurrent requests to the API server of one activity; the client's limit is for the process. */
const concurrency = 30;

interface Pace {
  readonly enough?: () => boolean;
  readonly atOnce?: number;
}

/**
 * Runs `work` for all items in order, with limited concurrency; starts no more once `enough` returns true or one has
 * failed.
 */
export async function inBatches<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { enough = () => false, atOnce = concurrency }: Pace = {},
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length && !enough()) {
      try {
        await work(items[next++]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}

/** Runs `work` for all items, with limited concurrency, even after failures. Returns the failed items. */
export async function failuresOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  pace?: Pick<Pace, 'atOnce'>,
): Promise<readonly { readonly item: T; readonly error: unknown }[]> {
  const failed: { readonly item: T; readonly error: unknown }[] = [];
  const attempt = async (item: T): Promise<void> => {
    try {
      await work(item);
    } catch (error) {
      failed.push({ item, error });
    }
  };
  await inBatches(items, attempt, pace);
  return failed;
}

/** Memoizes `ask`; a promise is shared too. */
export function once<T>(ask: () => T): () => T {
  let known: { readonly answer: T } | undefined;
  return () => (known ??= { answer: ask() }).answer;
}

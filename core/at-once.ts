/**
 * Does `work` for all of them at once and waits for every one, whatever becomes of the others; then what failed first is thrown. Unlike
 * `Promise.all` it leaves nothing under way that nobody waits for.
 */
export async function settleAll<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const outcomes = await Promise.allSettled(items.map(work));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** Does `work` for one after the other, whatever becomes of those before; then what failed first is thrown. */
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

/** Requests to the API server that one activity has under way at a time; the client's own limit is for the process. */
const concurrency = 30;

interface Pace {
  readonly enough?: () => boolean;
  readonly atOnce?: number;
}

/** Does `work` for each, some at a time, in their order; begins no more once `enough` says so or one has failed. */
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

/** Does `work` for each, some at a time, whatever becomes of the others. Gives those that failed. */
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

/** Asks when first called, and gives the same answer from then on; a promise is shared too. */
export function once<T>(ask: () => T): () => T {
  let known: { readonly answer: T } | undefined;
  return () => (known ??= { answer: ask() }).answer;
}

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

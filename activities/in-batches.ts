/** Requests to the API server that one activity has under way at a time; the client's own limit is for the process. */
const concurrency = 30;

/** Does `work` for each, some at a time, in their order; ends early once `enough` says so. */
export async function inBatches<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  enough: () => boolean = () => false,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length && !enough()) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
}

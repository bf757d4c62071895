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

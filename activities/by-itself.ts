import type { ActivityDeps } from './deps.js';
import { inBatches } from '../core/in-batches.js';
import { isRefusal } from './provisioning/refused-claims.js';

export interface RefusedItem<T> {
  readonly item: T;
  /** What the API server said. */
  readonly why: string;
}

/**
 * Does `work` for each, and what is refused for one harms no other: it is logged and given back. An outage fails the activity
 * once every item has had its turn.
 */
export async function eachByItself<T>(
  { log }: Pick<ActivityDeps, 'log'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  told: { readonly what: string; readonly nameOf: (item: T) => string },
): Promise<readonly RefusedItem<T>[]> {
  const refused: RefusedItem<T>[] = [];
  const outages: unknown[] = [];
  await inBatches(items, async (item) => {
    try {
      await work(item);
    } catch (error) {
      if (!isRefusal(error)) outages.push(error);
      else {
        refused.push({ item, why: error.message });
        log.warn({ object: told.nameOf(item), error: error.message }, `the API server refused ${told.what}`);
      }
    }
  });
  if (outages.length > 0) throw outages[0];
  return refused;
}

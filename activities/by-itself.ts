import { messageOf } from '../core/error-message.js';
import { inBatches } from '../core/in-batches.js';
import { isDomainError } from '../core/failures.js';
import { currentAttempt } from './attempt.js';
import type { ActivityDeps } from './deps.js';
import { isRefusal } from './provisioning/refused-claims.js';
import { isCancellation } from './to-failure.js';

export interface RefusedItem<T> {
  readonly item: T;
  /** What the API server said. */
  readonly why: string;
}

/** So often everything is tried again for what had no answer: most outages are over by then. */
const attemptsForAll = 2;

/**
 * Why one of several items has failed by itself; undefined where it may be an outage, and the activity is to fail. Some webhooks answer
 * with the status of an outage, some objects make code throw: what fails attempt after attempt, while the API server answers otherwise, is
 * the item's own (provisioning/refused-claims).
 */
export function ownFailure(error: unknown): string | undefined {
  if (isRefusal(error)) return error.message;
  if (isCancellation(error) || (currentAttempt()?.number ?? 1) <= attemptsForAll) return undefined;
  return isDomainError(error) ? error.message : `it could not be written: ${messageOf(error)}`;
}

interface Told<T> {
  /** What was to be done, for a person. */
  readonly what: string;
  readonly nameOf: (item: T) => string;
}

/**
 * Does `work` for each, and what fails for one harms no other: it is logged and given back. An outage fails the activity
 * once every item has had its turn. Where no item was answered the API server is asked something else: of one item alone it could not be
 * told otherwise.
 */
export async function eachByItself<T>(
  { log, kube }: Pick<ActivityDeps, 'log' | 'kube'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { what, nameOf }: Told<T>,
): Promise<readonly RefusedItem<T>[]> {
  const failed = await failuresOf(items, work);
  const outages = failed.filter(({ error }) => !isRefusal(error));
  const isAnswered = outages.length < items.length || (outages.length > 0 && (await answers(kube)));
  return failed.map(({ item, error }) => {
    const why = isAnswered || isRefusal(error) ? ownFailure(error) : undefined;
    if (why === undefined) throw error;
    log.warn({ object: nameOf(item), error: why }, `the API server refused ${what}`);
    return { item, why };
  });
}

/** Whether the API server and its store answer now. */
async function answers(kube: Pick<ActivityDeps['kube'], 'get'>): Promise<boolean> {
  try {
    await kube.get('Namespace', { name: 'kube-system' });
    return true;
  } catch (error) {
    return isRefusal(error);
  }
}

/**
 * As `eachByItself`, for what is done again in any case: no failure but the end of the attempt fails the activity, so that whoever asks
 * waits for no object.
 */
export async function eachAtBest<T>(
  { log }: Pick<ActivityDeps, 'log'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { what, nameOf }: Told<T>,
): Promise<readonly RefusedItem<T>[]> {
  const failed = await failuresOf(items, work);
  const over = failed.find(({ error }) => isCancellation(error));
  if (over !== undefined) throw over.error;
  return failed.map(({ item, error }) => {
    const why = messageOf(error);
    log.warn({ object: nameOf(item), error: why }, `${what} failed, trying again later`);
    return { item, why };
  });
}

async function failuresOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<readonly { readonly item: T; readonly error: unknown }[]> {
  const failed: { readonly item: T; readonly error: unknown }[] = [];
  await inBatches(items, async (item) => {
    try {
      await work(item);
    } catch (error) {
      failed.push({ item, error });
    }
  });
  return failed;
}

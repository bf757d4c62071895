import { messageOf } from '../core/error-message.js';
import { failuresOf } from '../core/at-once.js';
import { isDomainError } from '../core/failures.js';
import { currentAttempt } from './attempt.js';
import type { ActivityDeps } from './deps.js';
import { isRefusal } from './refusals.js';
import { isCancellation } from './to-failure.js';

interface RefusedItem<T> {
  readonly item: T;
  /** The message of the API server. */
  readonly why: string;
}

/** How many attempts treat a missing answer as an outage: most outages are over by then. */
const attemptsForAll = 2;

/**
 * The failure of one item of several; undefined if it may be an outage, in which case the activity has to fail. Some
 * webhooks answer with the status of an outage, and some objects make code throw: if an item fails in every attempt
 * while the API server answers other requests, that is a failure of the item alone (provisioning/refused-claims).
 */
export function itemFailure(error: unknown): string | undefined {
  if (isRefusal(error)) return error.message;
  if (isCancellation(error) || (currentAttempt()?.number ?? 1) <= attemptsForAll) return undefined;
  return isDomainError(error) ? error.message : `it could not be written: ${messageOf(error)}`;
}

interface ItemTexts<T> {
  /** What is done with each item, in words. */
  readonly what: string;
  readonly nameOf: (item: T) => string;
}

/**
 * Runs `work` for each item, and continues if one fails: the failure is logged and returned. An outage fails the
 * activity after every item was tried. If no item had an answer, another request checks whether the API server is
 * available: with a single item the two could not be distinguished otherwise.
 */
export async function forEachItem<T>(
  { log, kube }: Pick<ActivityDeps, 'log' | 'kube'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { what, nameOf }: ItemTexts<T>,
): Promise<readonly RefusedItem<T>[]> {
  const failed = await failuresOf(items, work);
  const outages = failed.filter(({ error }) => !isRefusal(error));
  const isAnswered = outages.length < items.length || (outages.length > 0 && (await answers(kube)));
  return failed.map(({ item, error }) => {
    const why = isAnswered || isRefusal(error) ? itemFailure(error) : undefined;
    if (why === undefined) throw error;
    log.warn({ object: nameOf(item), error: why }, `the API server refused ${what}`);
    return { item, why };
  });
}

/** Whether the API server and etcd answer now. */
async function answers(kube: Pick<ActivityDeps['kube'], 'get'>): Promise<boolean> {
  try {
    await kube.get('Namespace', { name: 'kube-system' });
    return true;
  } catch (error) {
    return isRefusal(error);
  }
}

/** As `forEachItem`, for work that is repeated anyway: only the end of the attempt fails the activity. */
export async function forEachBestEffort<T>(
  { log }: Pick<ActivityDeps, 'log'>,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { what, nameOf }: ItemTexts<T>,
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

import type { ObservedQueue } from '../../operator/stuck/observed.js';
import type { LimiterClock } from '../../kube/limiter.js';
import { counted } from '../../core/text.js';
import { messageOf } from '../../core/error-message.js';

const usualDeadlineMs = 15_000;

/**
 * Runs all checks concurrently, each as soon as its dependencies have ended. Never rejects: an exception or timeout is
 * a failed check. Returns the results in the order of the checks.
 */
export async function runChecks(
  checks: readonly Check[],
  clock: Pick<LimiterClock, 'sleep'>,
): Promise<readonly CheckResult[]> {
  const results = new Map<string, Promise<CheckResult>>();
  for (const check of checks) {
    const needed = (check.needs ?? []).map((name) => {
      const result = results.get(name);
      if (result === undefined) throw new Error(`check ${check.name} needs ${name}, which is no check before it`);
      return result;
    });
    results.set(
      check.name,
      outcomeOf(check, needed, clock).then((verdict) => ({ name: check.name, ...verdict })),
    );
  }
  return Promise.all(results.values());
}

async function outcomeOf(
  check: Check,
  needed: readonly Promise<CheckResult>[],
  clock: Pick<LimiterClock, 'sleep'>,
): Promise<CheckOutcome> {
  const inTheWay = (await Promise.all(needed)).find(({ state }) => state === 'failed' || state === 'skipped');
  if (inTheWay !== undefined) return skipped(`see ${inTheWay.name}`);
  const { deadlineMs = usualDeadlineMs, unanswered } = check;
  const over = new AbortController();
  const late = clock
    .sleep(deadlineMs, over.signal)
    .then(() => failed(`no answer within ${counted(deadlineMs / 1000, 'second')}`, unanswered));
  // The timeout of a completed check is irrelevant.
  late.catch(() => undefined);
  try {
    return await Promise.race([check.run(), late]);
  } catch (error) {
    return failed(messageOf(error), unanswered);
  } finally {
    over.abort();
  }
}

/** Result of a check: `skipped` if another problem prevents it, or the installation does not use the feature. */
export type CheckState = 'ok' | 'warning' | 'failed' | 'skipped';

/** The finding of a check, and its fix; `mend` is empty if there is nothing to fix. */
export interface CheckOutcome {
  readonly state: CheckState;
  readonly found: string;
  readonly mend: string;
}

export interface CheckResult extends CheckOutcome {
  readonly name: string;
}

/** One requirement of an installation. */
export interface Check {
  readonly name: string;
  /** Checks that must succeed first: if one is failed or skipped, this one is skipped. */
  readonly needs?: readonly string[];
  /** The fix if the checked service does not respond. */
  readonly unanswered: string;
  /** Timeout in milliseconds; default 15 seconds. */
  readonly deadlineMs?: number;
  run(): Promise<CheckOutcome>;
}

export const okCheck = (found: string): CheckOutcome => ({ state: 'ok', found, mend: '' });
export const warning = (found: string, mend: string): CheckOutcome => ({ state: 'warning', found, mend });
export const failed = (found: string, mend: string): CheckOutcome => ({ state: 'failed', found, mend });
export const skipped = (found: string): CheckOutcome => ({ state: 'skipped', found, mend: '' });

/** The first few of many, in one line. */
export function someOf(items: readonly string[], most = 5): string {
  const more = items.length > most ? ` and ${items.length - most} more` : '';
  return `${items.slice(0, most).join(', ')}${more}`;
}

/** Access to Temporal for checks. All methods reject if it does not respond. */
export interface EngineReader {
  /** Such as `1.29.1`. */
  serverVersion(): Promise<string>;
  /** Undefined if the namespace does not exist. */
  namespace(): Promise<{ readonly isOpen: boolean; readonly retentionMs: number } | undefined>;
  searchAttributes(): Promise<{
    readonly missing: readonly string[];
    readonly mistyped: readonly { readonly name: string; readonly wanted: string; readonly found: string }[];
  }>;
  queues(): Promise<readonly ObservedQueue[]>;
  /** UID of the `kube-system` recorded for the cluster's name; undefined while none is recorded. */
  recordedUid(): Promise<string | undefined>;
}

import type { LimiterClock } from '../../kube/limiter.js';
import { counted } from '../../core/text.js';
import { failed, skipped, type Check, type CheckResult, type CheckOutcome } from './check.js';
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

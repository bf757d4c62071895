import { setTimeout as sleep } from 'node:timers/promises';
import type { CloudProvider } from '../../cloud/port.js';
import { messageOf } from '../../core/error-message.js';
import { isDomainError } from '../../core/failures.js';
import { labels } from '../../api/labels.js';
import type { Cluster } from './cluster.js';
import { endingMinutes, Machines, NotPossible } from './machines.js';
import { Purse } from './purse.js';
import { steps, type Step } from './steps.js';
import { classNames, nodeClassOf, poolName, type Target } from './target.js';

export interface StepResult {
  readonly step: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** What was seen, or why not. */
  readonly note: string;
  readonly seconds: number;
  /** Dollars by list prices, machines that were ended included. */
  readonly cost: number;
}

export interface SuiteOptions {
  readonly target: Target;
  readonly provider: CloudProvider;
  readonly cluster: Cluster;
  /** Replaces AWS' own endpoints. */
  readonly endpoint?: string;
  /** Hears which step begins. */
  readonly onStep?: (step: string) => void;
  /** Hears each result as it is known. */
  readonly onResult?: (result: StepResult) => void;
  /** Ends the suite early; it cleans up all the same. */
  readonly signal?: AbortSignal;
  readonly now?: () => number;
}

/** Runs the steps one after the other, each within its time, all within the target's time and money, and cleans up also after a failure. */
export async function runSuite(options: SuiteOptions): Promise<StepResult[]> {
  const { target, provider, now = Date.now, onResult, onStep } = options;
  const purse = new Purse(target.maxDollars, now);
  const machines = new Machines(provider, purse, target, now);
  const until = now() + target.maxMinutes * 60_000;
  const results: StepResult[] = [];
  const record = (result: StepResult): void => {
    results.push(result);
    onResult?.(result);
  };
  const chosen = steps.filter(({ name }) => target.only?.includes(name) ?? true);
  for (const step of chosen) {
    const [begun, spent] = [now(), purse.spent];
    onStep?.(step.name);
    const left = (until - begun) / 60_000;
    const needed = step.minutes + endingMinutes;
    const reason = options.signal?.aborted === true ? 'stopped' : undefined;
    const late =
      needed > left ? `it could take ${needed} minutes, and ${Math.max(0, Math.floor(left))} are left` : undefined;
    const skip = reason ?? late;
    const verdict =
      skip === undefined ? await runStep(step, machines, options) : { outcome: 'skipped' as const, note: skip };
    record({ step: step.name, ...verdict, seconds: (now() - begun) / 1000, cost: purse.spent - spent });
  }
  const [begun, spent] = [now(), purse.spent];
  onStep?.('clean-up');
  const verdict = await outcomeOf(() => cleanUp(options));
  record({ step: 'clean-up', ...verdict, seconds: (now() - begun) / 1000, cost: purse.spent - spent });
  return results;
}

type Verdict = Pick<StepResult, 'outcome' | 'note'>;

async function runStep(step: Step, machines: Machines, options: SuiteOptions): Promise<Verdict> {
  const { target, cluster, endpoint, signal: stop } = options;
  const bounded = (minutes: number, ...others: AbortSignal[]): AbortSignal =>
    AbortSignal.any([AbortSignal.timeout(minutes * 60_000), ...others]);
  const signal = bounded(step.minutes, ...(stop === undefined ? [] : [stop]));
  const verdict = await outcomeOf(() => step.run({ target, machines, cluster, endpoint, signal }));
  const ending = await outcomeOf(async () => {
    await cluster.forget(await machines.endAll(bounded(endingMinutes)));
    return '';
  });
  return ending.outcome === 'passed' ? verdict : { outcome: 'failed', note: `its machines: ${ending.note}` };
}

async function outcomeOf(run: () => Promise<string>): Promise<Verdict> {
  try {
    return { outcome: 'passed', note: await run() };
  } catch (error) {
    const note = (error as Error).name === 'AbortError' ? 'it took too long, or was stopped' : messageOf(error);
    return { outcome: error instanceof NotPossible ? 'skipped' : 'failed', note };
  }
}

/** Ends every machine of any run of the suite in this cluster, and removes the profiles and launch templates of its node classes. */
export async function cleanUp({ target, provider, cluster }: SuiteOptions): Promise<string> {
  const signal = AbortSignal.timeout(endingMinutes * 60_000);
  const gone = new Set<string>();
  // What was launched a moment ago is not described yet.
  for (let seenAt = Date.now(); ;) {
    const left = (await provider.list()).filter(({ tags }) => tags[labels.nodePool] === poolName);
    if (left.length > 0) seenAt = Date.now();
    else if (Date.now() - seenAt >= target.unseenMs) break;
    for (const { providerId } of left) gone.add(providerId);
    await Promise.all(left.map(({ providerId }) => endOne(provider, providerId)));
    await sleep(target.pollMs, undefined, { signal });
  }
  await cluster.forget([...gone]);
  for (const name of classNames) await provider.cleanUpNodeClass(nodeClassOf(target, name));
  return gone.size === 0 ? 'nothing was left' : `${gone.size} machines were left, and ended`;
}

async function endOne(provider: CloudProvider, providerId: string): Promise<void> {
  try {
    await provider.terminate(providerId);
  } catch (error) {
    // Looked at again at once.
    if (!isDomainError(error, 'Unavailable') && !isDomainError(error, 'Throttled')) throw error;
  }
}

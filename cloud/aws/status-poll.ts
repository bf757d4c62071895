import type { InstanceStatus, InstanceStatusEvent } from '@aws-sdk/client-ec2';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { allPages } from './pages.js';
import { messageOf } from '../../core/error-message.js';
import type { InterruptionNotice, InterruptionKind } from '../../core/interruption-kinds.js';

const pollMs = 60_000;
const longestPauseMs = 3_600_000;
/** A check that fails counts after this time (interruption/status-checks). */
const impairedMs = 120_000;

const eventCodes: readonly string[] = [
  'instance-reboot',
  'system-reboot',
  'system-maintenance',
  'instance-retirement',
  'instance-stop',
];

/**
 * Filters; EC2 combines those of one call by AND. An instance that matches any of these calls matters. Most instances
 * are healthy.
 */
const questions = [
  { Name: 'event.code', Values: [...eventCodes] },
  { Name: 'instance-status.status', Values: ['impaired'] },
  { Name: 'system-status.status', Values: ['impaired'] },
];

interface StatusPollOptions {
  readonly calls: Pick<AwsCalls, 'describeInstanceStatus'>;
  readonly clock: Clock;
  readonly onProblem?: ((message: string) => void) | undefined;
}

/**
 * Polls instance status checks every minute until `signal` aborts. After failures the interval grows up to an hour: a
 * missing permission may be granted, and expired credentials are renewed. Repeated equal failures are reported once.
 */
export async function pollInstanceStatus(
  options: StatusPollOptions,
  handle: (interruption: InterruptionNotice) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let pauseMs = pollMs;
  let lastProblem = '';
  while (!signal.aborted) {
    const problem = await pollOnce(options, handle);
    if (problem !== undefined && problem !== lastProblem) options.onProblem?.(problem);
    const pause = problem === undefined ? pollMs : pauseMs;
    pauseMs = problem === undefined ? pollMs : Math.min(2 * pauseMs, longestPauseMs);
    lastProblem = problem ?? '';
    await options.clock.sleep(pause, signal);
  }
}

/** One poll; returns its error as text. */
async function pollOnce(
  { calls, clock }: StatusPollOptions,
  handle: (interruption: InterruptionNotice) => Promise<void>,
): Promise<string | undefined> {
  try {
    const seen = new Set<string | undefined>();
    for (const question of questions) {
      const statuses = await allPages(
        'ec2:DescribeInstanceStatus',
        (token) => calls.describeInstanceStatus({ Filters: [question], MaxResults: 1000, NextToken: token }),
        (page) => page.InstanceStatuses,
      );
      // Each response has the full status of an instance.
      for (const status of statuses.filter(({ InstanceId: id }) => !seen.has(id))) {
        seen.add(status.InstanceId);
        for (const interruption of readStatus(status, clock.now())) await handle(interruption);
      }
    }
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The interruptions for an instance's status; the same fault gives the same message id at every poll. */
export function readStatus(status: InstanceStatus, now: number): InterruptionNotice[] {
  const { InstanceId: instanceId } = status;
  if (instanceId === undefined) return [];
  const found: InterruptionNotice[] = [];
  const add = (kind: InterruptionKind, at: number, what: string): void => {
    found.push({ kind, instanceId, at, messageId: `${kind}/${instanceId}/${what}` });
  };
  for (const [kind, summary] of [
    ['instance_status', status.InstanceStatus],
    ['system_status', status.SystemStatus],
  ] as const) {
    const failed = (summary?.Details ?? []).filter((detail) => detail.Status === 'failed');
    const since = Math.min(...failed.map((detail) => detail.ImpairedSince?.getTime() ?? Infinity));
    if (now - since >= impairedMs) add(kind, since, String(since));
  }
  for (const event of (status.Events ?? []).filter(isDue)) {
    add('event_status', now, event.InstanceEventId ?? event.Code ?? '');
  }
  return found;
}

/** Past events stay listed, with a prefix in their description. */
function isDue(event: InstanceStatusEvent): boolean {
  return eventCodes.includes(event.Code ?? '') && !/^\[(Completed|Canceled)\]/.test(event.Description ?? '');
}

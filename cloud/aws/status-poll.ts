import type { InstanceStatus, InstanceStatusEvent } from '@aws-sdk/client-ec2';
import { isDomainError } from '../../core/failures.js';
import type { Interruption, InterruptionKind } from '../port.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { allPages } from './pages.js';

const pollMs = 60_000;
/** A failed check counts once it has failed for so long (section 4.15). */
const impairedMs = 120_000;

const eventCodes: readonly string[] = [
  'instance-reboot',
  'system-reboot',
  'system-maintenance',
  'instance-retirement',
  'instance-stop',
];

export interface StatusPollOptions {
  readonly calls: Pick<AwsCalls, 'describeInstanceStatus'>;
  readonly clock: Clock;
  readonly onProblem?: ((message: string) => void) | undefined;
}

/** Looks at instance status checks every minute until `signal` aborts; ends for good when EC2 refuses the call. */
export async function pollInstanceStatus(
  options: StatusPollOptions,
  handle: (interruption: Interruption) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const statuses = await allPages(
        (token) => options.calls.describeInstanceStatus({ MaxResults: 1000, NextToken: token }),
        (page) => page.InstanceStatuses,
      );
      for (const status of statuses) {
        for (const interruption of readStatus(status, options.clock.now())) await handle(interruption);
      }
    } catch (error) {
      options.onProblem?.(error instanceof Error ? error.message : String(error));
      if (isDomainError(error, 'Denied')) return;
    }
    await options.clock.sleep(pollMs, signal);
  }
}

/** What an instance's status asks for; the same fault gives the same message id at every look. */
export function readStatus(status: InstanceStatus, now: number): Interruption[] {
  const instanceId = status.InstanceId ?? '';
  const found: Interruption[] = [];
  const add = (kind: InterruptionKind, at: number, what: string): void => {
    found.push({ kind, instanceId, at, messageId: `${kind}/${instanceId}/${what}` });
  };
  for (const [kind, summary] of [
    ['instance_status', status.InstanceStatus],
    ['system_status', status.SystemStatus],
  ] as const) {
    const since = summary?.Details?.find((detail) => detail.Status === 'failed')?.ImpairedSince?.getTime();
    if (since !== undefined && now - since >= impairedMs) add(kind, since, String(since));
  }
  for (const event of (status.Events ?? []).filter(isDue)) {
    add('event_status', now, event.InstanceEventId ?? event.Code ?? '');
  }
  return found;
}

/** Events that are over keep standing there with a note in front. */
function isDue(event: InstanceStatusEvent): boolean {
  return eventCodes.includes(event.Code ?? '') && !/^\[(Completed|Canceled)\]/.test(event.Description ?? '');
}

import type { DescribeInstanceStatusCommandInput, InstanceStatus } from '@aws-sdk/client-ec2';
import { expect, test } from '@jest/globals';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import { statusesFor } from '../../test/builders/instance-statuses.js';
import { pollInstanceStatus } from './status-poll.js';

const firstQuestion = 'event.code';
const names = ({ Filters = [] }: DescribeInstanceStatusCommandInput): string => Filters.map(({ Name }) => Name).join();

/** Polls until `answers` are used up, one for each poll; returns when each poll began, and the reported problems. */
async function poll(answers: readonly (Error | undefined)[]): Promise<{ at: number[]; problems: string[] }> {
  const clock = steppingClock();
  const abort = new AbortController();
  const at: number[] = [];
  const problems: string[] = [];
  const describeInstanceStatus = (input: DescribeInstanceStatusCommandInput): Promise<never> => {
    if (names(input) !== firstQuestion) return Promise.resolve({ InstanceStatuses: [] } as never);
    const answer = answers[at.length];
    at.push(clock.time);
    if (at.length === answers.length) abort.abort();
    return answer === undefined ? Promise.resolve({ InstanceStatuses: [] } as never) : Promise.reject(answer);
  };
  await pollInstanceStatus(
    { calls: { describeInstanceStatus }, clock, onProblem: (message) => problems.push(message) },
    () => Promise.resolve(),
    abort.signal,
  );
  return { at, problems };
}

const minutes = (times: readonly number[]): number[] => times.map((time) => time / 60_000);
const denied = refusal('UnauthorizedOperation', 'no', 'ec2:DescribeInstanceStatus', 403);
const expired = refusal('ExpiredToken', 'the token is expired', 'ec2:DescribeInstanceStatus', 403);

test('status poll: an expired token ends nothing, and the next look is a minute later', async () => {
  const { at, problems } = await poll([undefined, expired, undefined, undefined]);
  expect(minutes(at)).toEqual([0, 1, 2, 3]);
  expect(problems).toHaveLength(1);
});

test('status poll: a denied call is retried at growing intervals, and reported once', async () => {
  const { at, problems } = await poll([...Array<Error>(8).fill(denied), undefined, undefined]);
  expect(minutes(at)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 184]);
  expect(problems).toEqual([expect.stringContaining('ec2:DescribeInstanceStatus')]);
});

const passed = { Status: 'ok' as const };
const failed = {
  Status: 'impaired' as const,
  Details: [{ Name: 'reachability' as const, Status: 'failed' as const, ImpairedSince: new Date(0) }],
};
const status = (InstanceId: string, more: Partial<InstanceStatus> = {}): InstanceStatus => ({
  ...{ InstanceId, InstanceStatus: passed, SystemStatus: passed },
  ...more,
});
const account = [
  ...Array.from({ length: 2500 }, (_, i) => status(`i-sound-${i}`)),
  status('i-own', { InstanceStatus: failed }),
  status('i-system', { SystemStatus: failed }),
  status('i-all', { InstanceStatus: failed, SystemStatus: failed, Events: [{ Code: 'system-reboot' }] }),
  status('i-event', { Events: [{ Code: 'instance-stop' }] }),
  status('i-over', { Events: [{ Code: 'instance-stop', Description: '[Completed] done' }] }),
];

/** One look at the account two minutes later: what it made of it, and the statuses that EC2 sent; `fails` names a filter whose call is refused. */
async function lookAt(statuses: readonly InstanceStatus[], fails?: string) {
  const clock = steppingClock(120_000);
  const abort = new AbortController();
  const asked: string[] = [];
  const handled: string[] = [];
  let sent = 0;
  await pollInstanceStatus(
    {
      clock: {
        ...clock,
        sleep: () => {
          abort.abort();
          return Promise.resolve();
        },
      },
      calls: {
        describeInstanceStatus: (input) => {
          asked.push(names(input));
          if (names(input) === fails) return Promise.reject(denied);
          const InstanceStatuses = statusesFor(statuses, input);
          sent += InstanceStatuses.length;
          return Promise.resolve({ InstanceStatuses } as never);
        },
      },
    },
    ({ instanceId, kind }) => Promise.resolve(void handled.push(`${instanceId} ${kind}`)),
    abort.signal,
  );
  return { asked, handled, sent };
}
const all = ['instance_status', 'system_status', 'event_status'].map((kind) => `i-all ${kind}`);

// Rule `interruption/status-checks`.
test('status poll: EC2 is asked only for impaired instances, and each fault is handled once', async () => {
  const { asked, handled, sent } = await lookAt(account);
  expect(asked).toEqual(['event.code', 'instance-status.status', 'system-status.status']);
  expect(handled).toEqual([...all, 'i-event event_status', 'i-own instance_status', 'i-system system_status']);
  expect(sent).toBe(7);
});

test('status poll: a check counts by the details that failed longest ago', async () => {
  const details = [{ ...failed.Details[0]!, ImpairedSince: new Date(119_000) }, ...failed.Details];
  const reported = [
    status('i-late', { InstanceStatus: { ...failed, Details: details } }),
    status('i-new', { InstanceStatus: { ...failed, Details: details.slice(0, 1) } }),
    status('i-untimed', { InstanceStatus: { ...failed, Details: [{ Status: 'failed' }, ...failed.Details] } }),
  ];
  const { handled } = await lookAt(reported);
  expect(handled).toEqual(['i-late instance_status', 'i-untimed instance_status']);
});

test('status poll: results of one call are handled though the next is refused', async () => {
  const { handled } = await lookAt(account, 'instance-status.status');
  expect(handled).toEqual([...all, 'i-event event_status']);
});

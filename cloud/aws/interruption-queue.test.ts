import { expect, test } from '@jest/globals';
import { DomainError } from '../../core/failures.js';
import type { AwsCalls } from './calls.js';
import { InterruptionQueue } from './interruption-queue.js';

const warning = (id: string, instance: string, more: object = {}): string =>
  JSON.stringify({
    version: '0',
    id,
    source: 'aws.ec2',
    'detail-type': 'EC2 Spot Instance Interruption Warning',
    detail: { 'instance-id': instance },
    ...more,
  });

const url = 'https://sqs.us-west-2.amazonaws.com/111122223333/q';
const clock = { now: () => 0, sleep: () => Promise.resolve() };

test('one poll stays when two find the queue empty at the same time', async () => {
  const stop = new AbortController();
  let release = (): void => undefined;
  const both = new Promise<void>((resolve) => (release = resolve));
  const full = Array.from({ length: 10 }, (_, at) => ({ Body: warning(`e${at}`, 'i-1'), MessageId: `m${at}` }));
  let polls = 0;
  const calls = {
    getQueueUrl: () => Promise.resolve({ QueueUrl: url }),
    receiveMessages: async () => {
      polls += 1;
      if (polls === 1) return { Messages: full };
      if (polls === 3) release();
      if (polls === 4) stop.abort();
      await both;
      return { Messages: [] };
    },
    deleteMessages: () => Promise.resolve(),
  } as unknown as AwsCalls;
  const queue = new InterruptionQueue({ calls, queueName: 'q', region: 'us-west-2', clock });
  await queue.run(() => Promise.resolve(), stop.signal);
  expect(polls).toBe(4);
});

test('a queue whose URL is not known any more ends no poll', async () => {
  const stop = new AbortController();
  const problems: string[] = [];
  let urls = 0;
  let received = 0;
  const calls = {
    getQueueUrl: () =>
      (urls += 1) === 1 ? Promise.resolve({ QueueUrl: url }) : Promise.reject(new DomainError('Unavailable', 'away')),
    receiveMessages: () => {
      received += 1;
      if (received === 3) stop.abort();
      return received === 1
        ? Promise.resolve({ Messages: [{ Body: warning('e1', 'i-1'), MessageId: 'm' }] })
        : Promise.reject(new DomainError('NotFound', 'no such queue'));
    },
    deleteMessages: () => Promise.resolve(),
  } as unknown as AwsCalls;
  const sleep = (): Promise<void> => {
    if (urls > 3) stop.abort();
    return Promise.resolve();
  };
  const times = { now: () => received * 48 * 3_600_000, sleep };
  const queue = new InterruptionQueue({
    ...{ calls, queueName: 'q', region: 'us-west-2', clock: times },
    onProblem: (problem) => void problems.push(problem),
  });
  const handled: string[] = [];
  await queue.run(({ messageId }) => Promise.resolve(void handled.push(messageId)), stop.signal);
  expect(handled).toEqual(['e1/i-1']);
  expect(problems).toContain('away');
});

test('a repeated interruption notice is handled once, one of another account never, and all messages are deleted', async () => {
  const waiting = [
    warning('e1', 'i-1'),
    warning('e1', 'i-1'),
    'no JSON',
    warning('e2', 'i-1'),
    warning('e4', 'i-3', { account: '444455556666' }),
    warning('e3', 'i-2'),
  ];
  const stop = new AbortController();
  const handled: string[] = [];
  const deleted: string[] = [];
  const ignored: string[] = [];
  const calls = {
    getQueueUrl: () => Promise.resolve({ QueueUrl: url }),
    receiveMessages: () => {
      const Body = waiting.shift();
      if (Body === undefined) stop.abort();
      return Promise.resolve({ Messages: Body === undefined ? [] : [{ Body, MessageId: 'm', ReceiptHandle: Body }] });
    },
    deleteMessages: ({ Entries = [] }: { Entries?: { ReceiptHandle?: string }[] }) =>
      Promise.resolve(void deleted.push(...Entries.map(({ ReceiptHandle = '' }) => ReceiptHandle))),
  } as unknown as AwsCalls;
  await new InterruptionQueue({ calls, queueName: 'q', region: 'us-west-2', clock }).run(
    ({ messageId }) => Promise.resolve(void handled.push(messageId)),
    stop.signal,
    (reason) => void ignored.push(reason),
  );
  expect(handled).toEqual(['e1/i-1', 'e2/i-1', 'e3/i-2']);
  expect(ignored).toEqual(['malformed', 'another account']);
  expect(deleted).toHaveLength(6);
});

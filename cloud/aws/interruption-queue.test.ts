import { expect, test } from '@jest/globals';
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
    getQueueUrl: () => Promise.resolve({ QueueUrl: 'https://sqs.us-west-2.amazonaws.com/111122223333/q' }),
    receiveMessages: () => {
      const Body = waiting.shift();
      if (Body === undefined) stop.abort();
      return Promise.resolve({ Messages: Body === undefined ? [] : [{ Body, MessageId: 'm', ReceiptHandle: Body }] });
    },
    deleteMessages: ({ Entries = [] }: { Entries?: { ReceiptHandle?: string }[] }) =>
      Promise.resolve(void deleted.push(...Entries.map(({ ReceiptHandle = '' }) => ReceiptHandle))),
  } as unknown as AwsCalls;
  const clock = { now: () => 0, sleep: () => Promise.resolve() };
  await new InterruptionQueue({ calls, queueName: 'q', region: 'us-west-2', clock }).run(
    ({ messageId }) => Promise.resolve(void handled.push(messageId)),
    stop.signal,
    (reason) => void ignored.push(reason),
  );
  expect(handled).toEqual(['e1/i-1', 'e2/i-1', 'e3/i-2']);
  expect(ignored).toEqual(['malformed', 'another account']);
  expect(deleted).toHaveLength(6);
});

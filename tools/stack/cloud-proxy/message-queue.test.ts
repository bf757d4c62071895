import FakeTimers, { type Clock } from '@sinonjs/fake-timers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MessageQueue } from './message-queue.js';
import { Sqs } from './sqs.js';

const open = new AbortController().signal;

describe('a queue of the local SQS', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  });
  afterEach(() => {
    clock.uninstall();
  });

  const queue = (): MessageQueue => new MessageQueue('q', () => 1000);
  const bodies = async (from: MessageQueue, count = 10): Promise<string[]> =>
    (await from.receive(count, 0, 5000, open)).map(({ Body }) => Body);

  test('hands a message out once until its visibility timeout passes', async () => {
    const q = queue();
    q.send('a');
    q.send('b');
    expect(await bodies(q, 1)).toEqual(['a']);
    expect(await bodies(q)).toEqual(['b']);
    expect(await bodies(q)).toEqual([]);
    clock.tick(5000);
    const again = await q.receive(10, 0, 5000, open);
    expect(again.map(({ Attributes }) => Attributes['ApproximateReceiveCount'])).toEqual(['2', '2']);
  });

  test('keeps a deleted message deleted, and accepts a second deletion', async () => {
    const q = queue();
    q.send('a');
    const [message] = await q.receive(1, 0, 5000, open);
    q.delete(message!.ReceiptHandle);
    q.delete(message!.ReceiptHandle);
    clock.tick(10_000);
    expect(await bodies(q)).toEqual([]);
    expect(() => q.delete('bogus')).toThrow('invalid');
  });

  test('deletes by an old receipt handle', async () => {
    const q = queue();
    q.send('a');
    const [first] = await q.receive(1, 0, 1000, open);
    clock.tick(1000);
    await q.receive(1, 0, 1000, open);
    q.delete(first!.ReceiptHandle);
    clock.tick(1000);
    expect(await bodies(q)).toEqual([]);
  });

  test('wakes a waiting receiver for a message, and ends its wait in time', async () => {
    const q = queue();
    const woken = q.receive(1, 20_000, 60_000, open);
    q.send('late');
    expect((await woken).map(({ Body }) => Body)).toEqual(['late']);
    const empty = q.receive(1, 20_000, 30_000, open);
    clock.tick(20_000);
    expect(await empty).toEqual([]);
  });

  test('gives no message to a receiver that disconnected', async () => {
    const q = queue();
    const gone = new AbortController();
    const waiting = q.receive(1, 20_000, 1000, gone.signal);
    gone.abort();
    q.send('kept');
    expect(await waiting).toEqual([]);
    expect(await bodies(q)).toEqual(['kept']);
  });

  test('changes visibility only of a message in flight', async () => {
    const q = queue();
    q.send('a');
    const [message] = await q.receive(1, 0, 5000, open);
    q.changeVisibility(message!.ReceiptHandle, 0);
    expect(await bodies(q)).toEqual(['a']);
    expect(() => q.changeVisibility(message!.ReceiptHandle, 10)).toThrow('not in flight');
  });
});

describe('actions of the local SQS', () => {
  test('a batch answers for each entry', async () => {
    const sqs = new Sqs('us-west-2', () => 0);
    const call = (input: object) => ({ input: { ...input }, host: 'http://h:1', signal: open });
    const created = await sqs.answer('CreateQueue', call({ QueueName: 'q' }));
    expect(created).toEqual({ QueueUrl: 'http://h:1/123456789012/q' });
    await sqs.answer('SendMessage', call({ ...created, MessageBody: 'a' }));
    const { Messages } = (await sqs.answer('ReceiveMessage', call(created))) as {
      Messages: { ReceiptHandle: string }[];
    };
    const Entries = [
      { Id: '1', ReceiptHandle: Messages[0]!.ReceiptHandle },
      { Id: '2', ReceiptHandle: 'bogus' },
    ];
    expect(await sqs.answer('DeleteMessageBatch', call({ ...created, Entries }))).toMatchObject({
      Successful: [{ Id: '1' }],
      Failed: [{ Id: '2', Code: 'ReceiptHandleIsInvalid' }],
    });
    await expect(sqs.answer('GetQueueUrl', call({ QueueName: 'none' }))).rejects.toMatchObject({
      code: 'com.amazonaws.sqs#QueueDoesNotExist',
    });
  });
});

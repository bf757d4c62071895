import { expect, test } from '@jest/globals';
import { Flag, Inbox, VirtualClock } from './clock.js';

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('VirtualClock wakes sleepers in the order of their time, and those of one time in the order in which they began', async () => {
  const clock = new VirtualClock(1000);
  const woken: string[] = [];
  const sleep = async (name: string, milliseconds: number): Promise<void> => {
    await clock.sleep(milliseconds);
    woken.push(`${name} at ${clock.now}`);
  };
  void sleep('late', 20).then(() => sleep('later', 5));
  void sleep('early', 10);
  void sleep('second', 20);

  await clock.run(() => false, settle);

  expect(woken).toEqual(['early at 1010', 'late at 1020', 'second at 1020', 'later at 1025']);
});

test('VirtualClock stops at the time at which its run is over', async () => {
  const clock = new VirtualClock(0);
  void clock.sleep(10);
  void clock.sleep(20);
  await clock.run(() => clock.now >= 10, settle);
  expect(clock.now).toBe(10);
});

test('a Flag wakes a waiter, stays raised for a later one, and is forgotten when cleared', async () => {
  const clock = new VirtualClock(0);
  const flag = new Flag();
  const heard: number[] = [];
  const listen = async (): Promise<void> => {
    await flag.within(clock, 100);
    heard.push(clock.now);
  };
  void listen();
  void clock.sleep(30).then(() => flag.set());
  await clock.run(() => clock.now >= 30, settle);
  expect(heard).toEqual([30]);

  await listen();
  expect(heard).toEqual([30, 30]);

  flag.clear();
  void listen();
  await clock.run(() => clock.now >= 130, settle);
  expect(heard).toEqual([30, 30, 130]);
});

test('an Inbox gives its entries in order, and a reader waits while it is empty', async () => {
  const inbox = new Inbox<number>();
  const taken: number[] = [];
  const follow = async (): Promise<never> => {
    for (;;) taken.push(await inbox.next());
  };
  for (const each of [1, 2]) inbox.add(each);
  void follow();
  await settle();
  expect(taken).toEqual([1, 2]);

  inbox.add(3);
  expect(taken).toEqual([1, 2]);
  await settle();
  expect(taken).toEqual([1, 2, 3]);
});

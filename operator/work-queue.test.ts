import FakeTimers, { type Clock } from '@sinonjs/fake-timers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { silentLog } from '../test/simulation/silent.js';
import { until } from '../test/builders/until.js';
import { WorkQueue } from './work-queue.js';

let clock: Clock | undefined;

afterEach(() => {
  clock?.uninstall();
});

describe('WorkQueue of keys', () => {
  test('a key added again and again is handled at its first time', async () => {
    const timers = (clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
    const started = Date.now();
    const ranAt: number[] = [];
    const queue = new WorkQueue(
      'test',
      () => {
        ranAt.push(Date.now() - started);
        return Promise.resolve(undefined);
      },
      silentLog,
    );

    for (let asked = 0; asked < 20; asked++) {
      queue.addAfter('a', 100);
      await timers.tickAsync(60);
    }
    queue.stop();
    // Every 100 ms after the first call that found no timer.
    expect(ranAt.slice(0, 3)).toEqual([100, 220, 340]);
  });

  test('a key added with a shorter delay is handled sooner', () => {
    const timers = (clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
    const ran: string[] = [];
    const queue = new WorkQueue('test', (key) => Promise.resolve(void ran.push(key)), silentLog);

    queue.addAfter('a', 60_000);
    queue.addAfter('a', 100);
    timers.tick(100);
    queue.stop();
    expect(ran).toEqual(['a']);
  });

  test('a key is handled one at a time; additions meanwhile are handled once more', async () => {
    const gates: (() => void)[] = [];
    let runs = 0;
    let most = 0;
    let active = 0;
    const finished: (() => void)[] = [];
    const queue = new WorkQueue(
      'test',
      async () => {
        runs += 1;
        active += 1;
        most = Math.max(most, active);
        await new Promise<void>((resolve) => gates.push(resolve));
        active -= 1;
        finished.shift()?.();
        return undefined;
      },
      silentLog,
    );
    const end = (): Promise<void> => new Promise((resolve) => finished.push(resolve));

    queue.add('a');
    queue.add('a');
    queue.add('a');
    const first = end();
    gates.shift()?.();
    await first;
    await until(() => gates.length === 1);
    const second = end();
    gates.shift()?.();
    await second;
    await until(() => active === 0);

    expect(runs).toBe(2);
    expect(most).toBe(1);
    queue.stop();
  });

  test('a failed key is tried again, and the failure is logged once', async () => {
    const said: string[] = [];
    let runs = 0;
    const queue = new WorkQueue(
      'test',
      () => {
        runs += 1;
        return runs < 3 ? Promise.reject(new Error('no')) : Promise.resolve(undefined);
      },
      { ...silentLog, warn: (_facts, message) => said.push(message), info: (_facts, message) => said.push(message) },
    );

    queue.add('a');
    await until(() => said.length === 2);

    expect(said).toEqual(['test failed, trying again', 'test works again']);
    expect(runs).toBe(3);
    queue.stop();
  });
});

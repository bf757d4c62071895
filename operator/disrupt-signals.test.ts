import FakeTimers, { type Clock } from '@sinonjs/fake-timers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLog } from '../test/simulation/silent.js';
import { DisruptSignals } from './disruption-inputs.js';

describe('DisruptSignals to the disrupt workflow', () => {
  let clock: Clock;
  let signals: number;
  let failing: boolean;
  let subject: DisruptSignals;

  beforeEach(() => {
    clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    signals = 0;
    failing = false;
    const disrupt = (): Promise<void> => {
      if (failing) return Promise.reject(new Error('DEADLINE_EXCEEDED'));
      signals += 1;
      return Promise.resolve();
    };
    subject = new DisruptSignals({ starter: { disrupt }, log: silentLog });
  });
  afterEach(() => {
    subject.stop();
    clock.uninstall();
  });

  test('are sent a second after the first of many changes, and once more five seconds later', async () => {
    for (let i = 0; i < 100; i++) subject.signal();
    await clock.tickAsync(999);
    expect(signals).toBe(0);
    await clock.tickAsync(11);
    expect(signals).toBe(1);
    for (let i = 0; i < 100; i++) subject.signal();
    await clock.tickAsync(10);
    expect(signals).toBe(1);
    await clock.tickAsync(4000);
    expect(signals).toBe(1);
    await clock.tickAsync(1000);
    expect(signals).toBe(2);
    await clock.tickAsync(10_000);
    expect(signals).toBe(2);
  });

  test('are sent again after a failure', async () => {
    failing = true;
    subject.signal();
    await clock.tickAsync(3000);
    failing = false;
    await clock.tickAsync(3000);
    expect(signals).toBe(1);
  });
});

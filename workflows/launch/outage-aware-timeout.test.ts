import { describe, expect, test } from '@jest/globals';
import { OutageAwareTimeout } from './outage-aware-timeout.js';

const minute = 60_000;
const options = { allowedMs: 15 * minute, checkEveryMs: minute, recoveryMs: 2 * minute };
const begun = (): OutageAwareTimeout => new OutageAwareTimeout({ since: 0 }, options);
const look = (time: OutageAwareTimeout, ...minutes: readonly number[]): void => {
  for (const at of minutes) time.checked(at * minute);
};
const upTo = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('OutageAwareTimeout', () => {
  test('is over when its time has passed while calls were answered', () => {
    const time = begun();
    look(time, ...upTo(0, 14));
    expect([time.isOver, time.endsAt]).toEqual([false, 15 * minute]);

    look(time, 15);

    expect(time.isOver).toBe(true);
  });

  test('counts the time between looks, however often they are made', () => {
    const time = begun();
    for (let at = 0; at <= 15 * minute - 100; at += 100) time.checked(at);
    expect(time.isOver).toBe(false);

    look(time, 15);

    expect(time.isOver).toBe(true);
  });

  test('counts an outage as one interval', () => {
    const time = begun();
    look(time, 0, 1, 17);

    expect([time.isOver, time.endsAt]).toEqual([false, (17 + 13) * minute]);
    look(time, ...upTo(18, 30));
    expect(time.isOver).toBe(true);
  });

  test('leaves time to recover after an outage, however little was left', () => {
    const time = begun();
    look(time, ...upTo(0, 14), 30);
    expect([time.isOver, time.endsAt]).toEqual([false, 32 * minute]);
    look(time, 31);
    expect(time.isOver).toBe(false);

    look(time, 32);

    expect(time.isOver).toBe(true);
  });

  test('does not end by repeated outages', () => {
    const time = begun();
    for (let at = 0; at < 200; at += 5) {
      look(time, at);
      expect(time.isOver).toBe(false);
    }
  });

  test('continues in the next run where the last one was', () => {
    const time = begun();
    look(time, 0, 1, 17);

    const next = new OutageAwareTimeout(time.state, options);

    expect(next.endsAt).toBe(time.endsAt);
    expect(next.state).toEqual(time.state);
  });
});

import { describe, expect, test } from '@jest/globals';
import { PollInterval } from './poll-interval.js';

describe('poll intervals of long waits', () => {
  const after = (looks: number): number => {
    const own = new PollInterval();
    for (let made = 0; made < looks; made++) own.polled(false);
    return own.nextMs(0);
  };

  test('grow with each look', () => {
    expect([1, 2, 3, 4, 5, 6, 39, 40, 139, 140, 9999].map(after)).toEqual(
      [1, 2, 5, 10, 15, 15, 15, 30, 30, 60, 60].map((pause) => pause * 1000),
    );
  });

  test('shrink with every change', () => {
    const interval = new PollInterval();
    for (let made = 0; made < 200; made++) interval.polled(false);
    const pauses = [1, 2, 3, 4, 5].map(() => {
      interval.polled(true);
      return interval.nextMs(0);
    });

    expect(pauses).toEqual([10_000, 5000, 2000, 1000, 1000]);
  });

  test('end no later than the next known change', () => {
    const interval = new PollInterval();
    for (let made = 0; made < 200; made++) interval.polled(false);

    expect(interval.nextMs(1000, 4000)).toBe(3000);
    expect(interval.nextMs(1000, 0)).toBe(250);
    expect(interval.nextMs(1000, 900_000)).toBe(60_000);
  });

  test('wait for the known change where nothing else can change', () => {
    const interval = new PollInterval();
    expect(interval.nextMs(1000, 6000, true)).toBe(5000);
    expect(interval.nextMs(1000, undefined, true)).toBe(1000);
  });

  test('fit half an hour into one run', () => {
    const interval = new PollInterval();
    let made = 0;
    for (let elapsed = 0; elapsed < 30 * 60_000; elapsed += interval.nextMs(0)) {
      interval.polled(false);
      made += 1;
    }
    expect(made).toBeLessThan(100);
  });
});

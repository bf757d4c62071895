import { describe, expect, test } from '@jest/globals';
import { backoff, createRateLimiter } from './limiter.js';

describe('the rate limiter', () => {
  test('lets a burst through, then one at a time, and fills up again', async () => {
    let now = 0;
    const slept: number[] = [];
    const clock = {
      now: () => now,
      sleep: (milliseconds: number) => {
        slept.push(milliseconds);
        return Promise.resolve();
      },
    };
    const limiter = createRateLimiter(10, 3, clock);
    for (let i = 0; i < 5; i++) await limiter.take();
    expect(slept).toEqual([100, 200]);
    now = 10_000;
    for (let i = 0; i < 4; i++) await limiter.take();
    expect(slept).toEqual([100, 200, 100]);
  });

  test('with no rate never waits', async () => {
    const clock = { now: () => 0, sleep: () => Promise.reject(new Error('slept')) };
    const limiter = createRateLimiter(0, 0, clock);
    await limiter.take();
    await limiter.take();
  });
});

describe('back-off', () => {
  test('doubles up to its ceiling, spread over the upper half', () => {
    const options = { base: 100, max: 1000 };
    expect([0, 1, 2, 3, 4, 99].map((attempt) => backoff(attempt, { ...options, random: () => 1 }))).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ]);
    expect(backoff(4, { ...options, random: () => 0 })).toBe(500);
  });
});

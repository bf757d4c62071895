import { describe, expect, test } from '@jest/globals';
import { backoff, createRateLimiter } from './limiter.js';

// Rule `settings/client-rate`.
describe('the rate limiter', () => {
  test('a rate limiter lets a burst through, then one at a time, and refills', async () => {
    let now = 0;
    const slept: number[] = [];
    const clock = {
      now: () => now,
      sleep: (milliseconds: number) => {
        slept.push(milliseconds);
        now += milliseconds;
        return Promise.resolve();
      },
    };
    const limiter = createRateLimiter(10, 3, clock);
    for (let i = 0; i < 5; i++) await limiter.take();
    expect(slept).toEqual([100, 100]);
    now = 10_000;
    for (let i = 0; i < 4; i++) await limiter.take();
    expect(slept).toEqual([100, 100, 100]);
  });

  test('urgent callers go before waiting ones, which still get a share', async () => {
    let now = 0;
    const clock = {
      now: () => now,
      sleep: (milliseconds: number) => {
        now += milliseconds;
        return Promise.resolve();
      },
    };
    let urgent = false;
    const limiter = createRateLimiter(10, 1, clock, () => urgent);
    await limiter.take();
    const order: string[] = [];
    const take = (name: string): Promise<void> => limiter.take().then(() => void order.push(name));
    const launches = ['a', 'b', 'c'].map(take);
    urgent = true;
    const drains = ['1', '2', '3', '4', '5'].map(take);
    await Promise.all([...launches, ...drains]);
    expect(order).toEqual(['1', '2', '3', 'a', '4', '5', 'b', 'c']);
  });

  test('a rate limiter without a rate never waits', async () => {
    const clock = { now: () => 0, sleep: () => Promise.reject(new Error('slept')) };
    const limiter = createRateLimiter(0, 0, clock);
    await limiter.take();
    await limiter.take();
  });
});

describe('back-off', () => {
  test('the back-off of requests doubles up to its maximum, with jitter in the upper half', () => {
    const options = { base: 100, max: 1000 };
    expect([0, 1, 2, 3, 4, 99].map((attempt) => backoff(attempt, { ...options, random: () => 1 }))).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ]);
    expect(backoff(4, { ...options, random: () => 0 })).toBe(500);
  });
});

import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/failures.js';
import { steppingClock } from '../../test/builders/aws-world.js';
import { Batcher } from './instances.js';
import { Cached } from './cached.js';
import { Limiter } from './caller.js';

const hour = 3_600_000;

describe('when the clock is set back', () => {
  test('takes no call from the budget, and holds no batch', async () => {
    const clock = steppingClock(5 * hour);
    const limiter = new Limiter({ burst: 2, perSecond: 1 }, clock);
    await limiter.acquire();
    clock.time = 0;
    await limiter.acquire();
    expect(clock.time).toBe(0);
    await limiter.acquire();
    expect(clock.time).toBe(1000);

    clock.time = 5 * hour;
    const sleep = (ms: number): Promise<void> => {
      clock.time = clock.time > hour ? 0 : clock.time + ms;
      return Promise.resolve();
    };
    const window = { idleMs: 100, maxMs: 1000, maxItems: 500 };
    const batcher = new Batcher<number, number>(window, { ...clock, now: () => clock.time, sleep }, () =>
      Promise.resolve([7]),
    );
    await expect(batcher.add(1)).resolves.toBe(7);
    expect(clock.time).toBe(0);
  });

  test('cached values do not become young again, and an old value is used while nothing can be read', async () => {
    const clock = steppingClock(5 * hour);
    let loads = 0;
    const load = (): Promise<number> =>
      loads === 2 ? Promise.reject(new DomainError('Unavailable', 'away')) : Promise.resolve((loads += 1));
    const cached = new Cached(clock, load, 1000, 1000);
    expect(await cached.get()).toBe(1);
    clock.time = 0;
    expect(await cached.get()).toBe(2);
    clock.time = -hour;
    expect(await cached.get()).toBe(2);
  });
});

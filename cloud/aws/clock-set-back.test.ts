import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/failures.js';
import { steppingClock } from '../../test/builders/aws-world.js';
import { Batcher } from './instances.js';
import { Cached } from './cached.js';
import { Limiter } from './caller.js';
import { Subnets } from './networks.js';
import { UnavailableOfferings, unavailableMs } from '../../core/unavailable-offerings.js';

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

  test('unavailable offerings and exhausted subnets are excluded for no longer', () => {
    const clock = steppingClock(5 * hour);
    const offerings = new UnavailableOfferings(() => clock.time);
    offerings.add([{ instanceType: 'm5.large', zone: 'a', capacityType: 'spot', reason: 'no capacity' }]);
    const subnets = new Subnets({ describeSubnets: () => Promise.resolve({ $metadata: {} }) }, clock);
    subnets.markExhausted('subnet-1');
    const { version } = subnets;
    clock.time = 0;
    expect(offerings.get('spot', 'm5.large', 'a')?.until).toBe(unavailableMs);
    expect(subnets.isExhausted('subnet-1')).toBe(false);
    expect(subnets.version).not.toBe(version);
    const marked = offerings.version;
    clock.time = unavailableMs;
    expect(offerings.version).not.toBe(marked);
    expect(offerings.get('spot', 'm5.large', 'a')).toBeUndefined();
    clock.time = 5 * hour;
    expect(subnets.isExhausted('subnet-1')).toBe(false);
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

import type { DescribeSubnetsCommandInput, DescribeSubnetsCommandOutput } from '@aws-sdk/client-ec2';
import { describe, expect, test } from '@jest/globals';
import { Batcher } from './instances.js';
import { Cached, CachedByKey } from './cached.js';
import { dnsSuffixOf } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode, toDomainError } from './errors.js';
import { Limiter } from './caller.js';
import { Subnets } from './networks.js';

/** A clock that advances only by sleeps, each at once to its end. */
function steppingClock(): Clock & { time: number } {
  const clock = {
    time: 0,
    now: () => clock.time,
    sleep: (ms: number) => {
      clock.time += ms;
      return Promise.resolve();
    },
  };
  return clock;
}

describe('Limiter', () => {
  test('calls to AWS pass in a burst, then at a rate', async () => {
    const clock = steppingClock();
    const limiter = new Limiter({ burst: 10, perSecond: 5 }, clock);
    await Promise.all(Array.from({ length: 10 }, () => limiter.acquire()));
    expect(clock.time).toBe(0);
    await Promise.all(Array.from({ length: 10 }, () => limiter.acquire()));
    expect(clock.time).toBe(2000);
  });

  test('a throttled call slows all calls down; successes bring the rate back', async () => {
    const clock = steppingClock();
    const limiter = new Limiter({ burst: 10, perSecond: 8 }, clock);
    limiter.throttled();
    expect(limiter.perSecond).toBe(4);
    await limiter.acquire();
    expect(clock.time).toBe(250);
    for (let i = 0; i < 20; i++) limiter.throttled();
    expect(limiter.perSecond).toBe(0.25);
    for (let i = 0; i < 100; i++) limiter.succeeded();
    expect(limiter.perSecond).toBe(8);
  });
});

// Rule `launch/calls-gathered`.
describe('Batcher', () => {
  const batcher = (clock: Clock, batches: number[][], fail = false) =>
    new Batcher<number, string>({ idleMs: 100, maxMs: 1000, maxItems: 3 }, clock, (requests) => {
      batches.push([...requests]);
      return fail
        ? Promise.reject(new Error('away'))
        : Promise.resolve(requests.map((request) => `#${String(request)}`));
    });

  test('requests made together share a call, and each gets its own answer', async () => {
    const batches: number[][] = [];
    const given = batcher(steppingClock(), batches);
    expect(await Promise.all([given.add(1), given.add(2)])).toEqual(['#1', '#2']);
    expect(await given.add(3)).toBe('#3');
    expect(batches).toEqual([[1, 2], [3]]);
  });

  test('a full batch goes out at once, and a failure reaches every caller', async () => {
    const batches: number[][] = [];
    const given = batcher(steppingClock(), batches, true);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map((request) => given.add(request)));
    expect(batches).toEqual([[1, 2, 3], [4]]);
    expect(outcomes.every((outcome) => outcome.status === 'rejected')).toBe(true);
  });
});

// Rule `instance-types/catalogue-age`.
describe('Cached', () => {
  test('callers share a load; a failed reload is covered for a while', async () => {
    const clock = steppingClock();
    let loads = 0;
    const cached = new Cached(
      clock,
      () => {
        loads += 1;
        return loads === 1 ? Promise.resolve('first') : Promise.reject(new Error('away'));
      },
      100,
      50,
    );
    expect(await Promise.all([cached.get(), cached.get()])).toEqual(['first', 'first']);
    expect(loads).toBe(1);
    clock.time = 120;
    expect(await cached.get()).toBe('first');
    clock.time = 150;
    await expect(cached.get()).rejects.toThrow('away');
  });

  test('a cached value that was forgotten is loaded again', async () => {
    const cached = new CachedByKey<number>(steppingClock(), 100);
    let loads = 0;
    const load = () => Promise.resolve((loads += 1));
    expect([await cached.get('a', load), await cached.get('a', load), await cached.get('b', load)]).toEqual([1, 1, 2]);
    cached.forget('a');
    expect(await cached.get('a', load)).toBe(3);
  });
});

test.each([
  [{ name: 'UnauthorizedOperation', $metadata: { httpStatusCode: 403 } }, 'Denied'],
  [{ name: 'ExpiredTokenException', $metadata: { httpStatusCode: 400 } }, 'Denied'],
  [{ name: 'RequestLimitExceeded', $metadata: { httpStatusCode: 503 } }, 'Throttled'],
  [{ name: 'InvalidInstanceID.NotFound', $metadata: { httpStatusCode: 400 } }, 'NotFound'],
  [{ name: 'NoSuchEntityException', $metadata: { httpStatusCode: 404 } }, 'NotFound'],
  [{ name: 'EntityAlreadyExistsException', $metadata: { httpStatusCode: 409 } }, 'Conflict'],
  [{ name: 'InvalidParameterValue', $metadata: { httpStatusCode: 400 } }, 'Invalid'],
  [{ name: 'InternalError', $metadata: { httpStatusCode: 500 } }, 'Unavailable'],
  [{ name: 'Error', code: 'ECONNREFUSED' }, 'Unavailable'],
  [{ name: 'TimeoutError' }, 'Unavailable'],
])('%j is %s', (error, type) => {
  const failure = toDomainError(Object.assign(new Error('why'), error), 'ec2:DescribeSubnets');
  expect(failure.type).toBe(type);
  expect(failure.message).toMatch(/^ec2:DescribeSubnets: .*why$/);
  expect(awsCode(failure)).toBe(error.name === 'Error' ? 'ECONNREFUSED' : error.name);
});

test.each([
  ['eu-central-1', 'amazonaws.com'],
  ['us-gov-west-1', 'amazonaws.com'],
  ['cn-north-1', 'amazonaws.com.cn'],
  ['us-isob-east-1', 'sc2s.sgov.gov'],
])('endpoints of %s end with %s', (region, suffix) => {
  expect(dnsSuffixOf(region)).toBe(suffix);
});

test('free addresses of more subnets than a filter allows are read in several calls', async () => {
  const ids = Array.from({ length: 450 }, (_, i) => ({ id: `subnet-${i}`, zone: `z${i}` }));
  const asked: number[] = [];
  const describeSubnets = ({ Filters = [] }: DescribeSubnetsCommandInput): Promise<DescribeSubnetsCommandOutput> => {
    const values = Filters[0]?.Values ?? [];
    asked.push(values.length);
    const Subnets = values.map((SubnetId) => ({ SubnetId, AvailabilityZone: 'a', AvailableIpAddressCount: 1 }));
    return Promise.resolve({ $metadata: {}, Subnets });
  };
  const subnets = new Subnets({ describeSubnets }, steppingClock());
  expect((await subnets.choose(ids)).size).toBe(450);
  await subnets.choose(ids);
  expect(asked).toEqual([200, 200, 50]);
});

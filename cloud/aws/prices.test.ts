import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/failures.js';
import { parsePrices, PriceFileError, Prices } from './prices.js';
import type { PricesOptions } from './prices.js';

const hour = 3_600_000;
const listed = (instanceType: string, dollars: string) =>
  JSON.stringify({
    product: { attributes: { instanceType } },
    terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { USD: dollars } } } } } },
  });

function subject(more: Partial<PricesOptions> = {}) {
  const state = { now: 1_000 * hour, away: false, spot: '0.03', saved: '' };
  const calls: PricesOptions['calls'] = {
    getProducts: (input) => {
      if (state.away) return Promise.reject(new DomainError('Denied', 'pricing:GetProducts: denied'));
      const metal = input.Filters?.some((filter) => filter.Value === 'Dedicated') === true;
      const first = input.NextToken === undefined;
      const PriceList = metal ? [] : [first ? listed('m5.large', '0.096') : listed('c5.large', '0.085')];
      return Promise.resolve({ $metadata: {}, PriceList, ...(first && !metal ? { NextToken: 'next' } : {}) });
    },
    describeSpotPriceHistory: () => {
      if (state.away) return Promise.reject(new DomainError('Unavailable', 'ec2:DescribeSpotPriceHistory: away'));
      const row = { InstanceType: 'm5.large' as const, AvailabilityZone: 'a' };
      return Promise.resolve({
        $metadata: {},
        SpotPriceHistory: [
          { ...row, SpotPrice: '0.9', Timestamp: new Date(1) },
          { ...row, SpotPrice: state.spot, Timestamp: new Date(2) },
        ],
      });
    },
  };
  const store = {
    load: () => Promise.resolve(state.saved === '' ? undefined : state.saved),
    save: (text: string) => {
      state.saved = text;
      return Promise.resolve();
    },
  };
  const clock = { now: () => state.now, sleep: () => Promise.resolve() };
  const prices = new Prices({ calls, region: 'us-west-2', clock, store, ...more });
  return { prices, state };
}

describe('Prices', () => {
  // Rule `instance-types/prices`.
  test('all pages are read, of spot the latest row; again after twelve hours', async () => {
    const { prices, state } = subject();
    expect(await prices.current()).toMatchObject({
      onDemand: { 'm5.large': 0.096, 'c5.large': 0.085 },
      spot: { 'm5.large': { a: 0.03 } },
    });
    state.spot = '0.05';
    state.now += 11 * hour;
    expect((await prices.current()).spot).toEqual({ 'm5.large': { a: 0.03 } });
    state.now += hour;
    expect((await prices.current()).spot).toEqual({ 'm5.large': { a: 0.05 } });
    expect(prices.status?.stale).toBe(false);
  });

  test('what was read is not read again with what failed, and an empty list of spot prices is a failure', async () => {
    const asked = { products: 0, history: 0 };
    const answer = { history: [] as object[] };
    const { prices, state } = subject({
      calls: {
        getProducts: () => {
          asked.products += 1;
          return Promise.resolve({ $metadata: {}, PriceList: [listed('m5.large', '0.096')] });
        },
        describeSpotPriceHistory: () => {
          asked.history += 1;
          return Promise.resolve({ $metadata: {}, SpotPriceHistory: answer.history });
        },
      },
    });
    expect((await prices.current()).spot).toEqual({});
    state.now += 60_000;
    answer.history = [{ InstanceType: 'm5.large', AvailabilityZone: 'a', SpotPrice: '0.03', Timestamp: new Date(2) }];
    expect((await prices.current()).spot).toEqual({ 'm5.large': { a: 0.03 } });
    state.now += 60_000;
    await prices.current();
    expect(asked).toEqual({ products: 2, history: 2 });
  });

  test('prices are read again after the clock was set back', async () => {
    const { prices, state } = subject();
    state.now += 1000 * hour;
    await prices.current();
    state.now -= 900 * hour;
    state.spot = '0.05';
    expect((await prices.current()).spot).toEqual({ 'm5.large': { a: 0.05 } });
  });

  test('old prices are used up to an age limit, marked as stale, and not beyond it', async () => {
    const problems: string[] = [];
    const { prices, state } = subject({ onProblem: (problem) => problems.push(problem) });
    await prices.current();
    state.away = true;
    state.now += 47 * hour;
    expect((await prices.current()).spot).toEqual({ 'm5.large': { a: 0.03 } });
    expect(prices.status?.stale).toBe(true);
    expect(problems.join()).toContain('pricing:GetProducts: denied');
    state.now += 2 * hour;
    expect(await prices.current()).toMatchObject({ spot: {}, onDemand: { 'm5.large': 0.096 } });
    expect(problems).toHaveLength(2);
  });

  // Rule `instance-types/built-in-prices`.
  test.each([
    ['us-east-1', {}, 'built-in', 0.096, '2026-07-20'],
    ['us-gov-west-1', {}, 'built-in', 0.121, '2026-07-20'],
    ['cn-north-1', {}, 'built-in', 1.013, '2024-11-06'],
    ['eu-central-1', { isolated: true }, 'estimate', 0.115008, 'those of us-east-1 times 1.198'],
    ['cn-northwest-1', {}, 'estimate', 0.7091, 'those of cn-north-1 times 0.7'],
  ] as const)(
    '%s without a Pricing API has list prices that are built in',
    async (region, more, source, price, warning) => {
      const problems: string[] = [];
      const { prices, state } = subject({ region, ...more, onProblem: (problem) => problems.push(problem) });
      state.away = true;
      const { onDemand, spot, onDemandAt } = await prices.current();
      state.now += hour;
      await prices.current();
      expect([onDemand['m5.large'], spot]).toEqual([price, {}]);
      expect(prices.status).toMatchObject({ source, onDemandAt });
      expect(problems.filter((problem) => problem.includes('built in'))).toEqual([expect.stringContaining(warning)]);
    },
  );

  test("AWS's prices replace the built-in list, which replaces them when they are too old", async () => {
    const { prices, state } = subject();
    state.away = true;
    expect((await prices.current()).onDemand['m5.4xlarge']).toBe(0.768);
    state.away = false;
    state.now += hour;
    expect((await prices.current()).onDemand).toEqual({ 'm5.large': 0.096, 'c5.large': 0.085 });
    expect(prices.status?.source).toBe('api');
    state.away = true;
    state.now += 31 * 24 * hour;
    expect((await prices.current()).onDemand['m5.4xlarge']).toBe(0.768);
    expect(prices.status).toMatchObject({ source: 'estimate', stale: true });
  });

  test("GovCloud's Pricing API is not called, since its credentials do not work there", async () => {
    const asked: unknown[] = [];
    const { prices } = subject({
      region: 'us-gov-west-1',
      calls: {
        getProducts: (input) => Promise.reject(new Error(String(asked.push(input)))),
        describeSpotPriceHistory: () => Promise.resolve({ $metadata: {} }),
      },
    });
    await prices.current();
    expect(asked).toEqual([]);
  });

  test('an isolated network reads list prices from the store alone, and they do not age', async () => {
    const { prices, state } = subject({ isolated: true });
    state.saved = JSON.stringify({ onDemand: { 'm5.large': 1 } });
    expect((await prices.current()).onDemand).toEqual({ 'm5.large': 1 });
    expect(prices.status?.stale).toBe(false);
  });
});

test.each([
  ['{', /^no JSON/],
  ['{"onDemand":{"m5.large":"cheap"}}', 'onDemand.m5.large: expected a number ≥ 0, found "cheap"'],
  ['{"spot":{"m5.large":{"a":-1}}}', 'spot.m5.large.a: expected a number ≥ 0, found -1'],
  ['{"onDemand":7}', 'onDemand: expected an object of prices'],
])('a price file with %s is refused with the place', (text, message) => {
  expect(() => parsePrices(text)).toThrow(message);
  expect(() => parsePrices(text)).toThrow(PriceFileError);
});

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
    expect(prices.status.stale).toBe(false);
  });

  test('old prices are used up to a limit, marked as stale, and never beyond it', async () => {
    const problems: string[] = [];
    const { prices, state } = subject({ onProblem: (problem) => problems.push(problem) });
    await prices.current();
    state.away = true;
    state.now += 47 * hour;
    expect((await prices.current()).spot).toEqual({ 'm5.large': { a: 0.03 } });
    expect(prices.status.stale).toBe(true);
    expect(problems.join()).toContain('pricing:GetProducts: denied');
    state.now += 2 * hour;
    expect(await prices.current()).toMatchObject({ spot: {}, onDemand: { 'm5.large': 0.096 } });
    state.now += 30 * 24 * hour;
    await expect(prices.current()).rejects.toThrow('no prices are known');
  });

  test('an isolated network reads list prices from the store alone, and they do not age', async () => {
    const { prices, state } = subject({ isolated: true });
    state.saved = JSON.stringify({ onDemand: { 'm5.large': 1 } });
    expect((await prices.current()).onDemand).toEqual({ 'm5.large': 1 });
    expect(prices.status.stale).toBe(false);
  });
});

test.each([
  ['{', /^no JSON/],
  ['{"onDemand":{"m5.large":"cheap"}}', 'onDemand.m5.large: expected a number ≥ 0, found "cheap"'],
  ['{"spot":{"m5.large":{"a":-1}}}', 'spot.m5.large.a: expected a number ≥ 0, found -1'],
  ['{"onDemand":7}', 'onDemand: expected an object of prices'],
])('a price file that says %s is refused by place', (text, message) => {
  expect(() => parsePrices(text)).toThrow(message);
  expect(() => parsePrices(text)).toThrow(PriceFileError);
});

import { describe, expect, test } from '@jest/globals';
import { inOrderOf, type Candidate } from './strategies.js';

const candidate = (instanceType: string, given: Partial<Candidate>): Candidate => ({
  capacityType: 'spot',
  instanceType,
  zone: 'us-west-2a',
  order: 0,
  price: 1,
  depth: 5,
  priority: undefined,
  ...given,
});

const names = (strategy: string, candidates: Candidate[]): string[] =>
  inOrderOf(strategy, candidates).map(({ instanceType }) => instanceType);

describe('the order in which a fleet of the local cloud tries its overrides', () => {
  const cheapShallow = candidate('cheap-shallow', { price: 1, depth: 3, priority: 3, order: 0 });
  const dearDeep = candidate('dear-deep', { price: 3, depth: 10, priority: 2, order: 1 });
  const middling = candidate('middling', { price: 2, depth: 8, priority: 1, order: 2 });
  const all = [cheapShallow, dearDeep, middling];

  test.each([
    ['lowest-price', ['cheap-shallow', 'middling', 'dear-deep']],
    ['prioritized', ['middling', 'dear-deep', 'cheap-shallow']],
    ['capacity-optimized', ['dear-deep', 'middling', 'cheap-shallow']],
    ['price-capacity-optimized', ['middling', 'dear-deep', 'cheap-shallow']],
    ['capacity-optimized-prioritized', ['middling', 'dear-deep', 'cheap-shallow']],
  ])('of %s is %j', (strategy, expected) => {
    expect(names(strategy, all)).toEqual(expected);
    expect(names(strategy, all.toReversed())).toEqual(expected);
  });

  test('of price-capacity-optimized is by price where all pools are equally deep', () => {
    const level = all.map((each) => ({ ...each, depth: 5 }));
    expect(names('price-capacity-optimized', level)).toEqual(['cheap-shallow', 'middling', 'dear-deep']);
  });

  test('puts overrides without priority last', () => {
    const candidates = [candidate('none', { price: 0.1, order: 0 }), candidate('ten', { priority: 10, order: 1 })];
    expect(names('prioritized', candidates)).toEqual(['ten', 'none']);
  });

  test('keeps the order of the request among equals', () => {
    const candidates = ['b', 'a', 'c'].map((name, order) => candidate(name, { order }));
    expect(names('lowest-price', candidates)).toEqual(['b', 'a', 'c']);
  });
});

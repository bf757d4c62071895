import { expect, test } from '@jest/globals';
import { compareText } from '../../core/text.js';
import { rankRows } from './row-ranks.js';

type Row = Parameters<typeof rankRows>[0][number];

/** Numbers that look random, the same in every run. */
function numbers(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * most);
  };
}
const ofText = (key: (row: Row) => string) => (a: Row, b: Row) => compareText(key(a), key(b));
const orders = [
  (a: Row, b: Row) => a.offering.price - b.offering.price,
  ofText(({ type }) => type.name),
  ofText(({ zone }) => zone),
  ofText(({ capacityType }) => capacityType),
];
/** What `rankRows` says, worked out by comparing all rows. */
function ranksOf(rows: readonly Row[]): number[] {
  const order = rows.map((_, i) => i);
  order.sort((a, b) => orders.map((compare) => compare(rows[a]!, rows[b]!)).find((each) => each !== 0) ?? a - b);
  return rows.map((_, i) => order.indexOf(i));
}

test('rows are ranked by price, name, zone, capacity type and reservation', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const below = numbers(seed);
    const types = ['b', 'a', 'a'].map((name) => ({ name }));
    const offerings = Array.from({ length: 4 }, () => ({ price: below(3) / 10 }));
    const rows = Array.from({ length: below(40) }, (): Row => {
      const shared = below(offerings.length);
      const offering = below(4) === 0 ? { price: below(3) / 10 } : offerings[shared]!;
      // Of one offering the zone and the capacity type are always the same.
      const own = offering === offerings[shared] ? shared : below(4);
      return { type: types[below(3)]!, offering, zone: `z${own % 2}`, capacityType: `c${own >> 1}` };
    });
    expect([...rankRows(rows)]).toEqual(ranksOf(rows));
  }
});

/** How often names are read where so many NodePools buy from one catalogue of 30 offerings at one price. */
function namesRead(pools: number): number {
  let reads = 0;
  const catalogue = Array.from({ length: 30 }, (_, i) => ({
    type: {
      get name(): string {
        reads += 1;
        return `t${(i * 7) % 30}`;
      },
    },
    offering: { price: 1 },
    zone: 'z',
    capacityType: 'spot',
  }));
  rankRows(Array.from({ length: pools }, () => catalogue).flat());
  return reads;
}

test('rows of one offering are compared once, however many NodePools have it', () => {
  expect(namesRead(1)).toBeGreaterThan(0);
  expect(namesRead(500)).toBe(namesRead(1));
});

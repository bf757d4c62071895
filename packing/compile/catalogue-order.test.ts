import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { inCanonicalOrder } from './catalogue-order.js';

const offering = (zone: string, price: number): InstanceType['offerings'][number] => ({
  requirements: [{ key: labels.zone, operator: 'In', values: [zone] }],
  price,
  available: true,
});
const type = (name: string, ...zones: readonly string[]): InstanceType => ({
  name,
  requirements: [],
  offerings: zones.map((zone) => offering(zone, 1)),
  capacity: {},
  overhead: {},
});

describe('inCanonicalOrder sorts a catalogue', () => {
  test('gives the same for the same types and offerings in whatever order', () => {
    const [a, b] = [type('a', 'x', 'y'), type('b', 'z')];
    const expected = inCanonicalOrder([a, b]);

    expect(expected.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(inCanonicalOrder([b, { ...a, offerings: [...a.offerings].reverse() }])).toEqual(expected);
  });

  test('gives one array for one catalogue, and the catalogue itself where it is sorted already', () => {
    const tidy = [type('a', 'x', 'y'), type('b', 'z')];
    const untidy = [type('b', 'z'), type('a', 'x', 'y')];

    expect(inCanonicalOrder(tidy)).toBe(tidy);
    expect(inCanonicalOrder(untidy)).toBe(inCanonicalOrder(untidy));
    expect(inCanonicalOrder(inCanonicalOrder(untidy))).toBe(inCanonicalOrder(untidy));
  });

  test('sorts the offerings of each type by zone, and equal ones by price', () => {
    const twice = { ...type('d'), offerings: [offering('y', 3), offering('x', 2), offering('y', 1)] };
    const again = { ...type('e'), offerings: [offering('y', 1), offering('x', 2), offering('y', 3)] };
    const types = [type('a', 'y', 'x'), type('b', 'y', 'x'), type('c', 'x', 'z'), twice, again, type('f', 'z', 'y')];

    const zones = inCanonicalOrder(types).map(({ offerings }) =>
      offerings.map(({ requirements, price }) => `${requirements[0]!.values![0]!}${price}`).join(),
    );
    expect(zones).toEqual(['x1,y1', 'x1,y1', 'x1,z1', 'x2,y1,y3', 'x2,y1,y3', 'y1,z1']);
  });
});

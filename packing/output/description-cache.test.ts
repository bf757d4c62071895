import { expect, test } from '@jest/globals';
import { DescriptionCache, type DescriptionKey } from './description-cache.js';

const base: DescriptionKey = {
  row: 3,
  capacityType: '',
  keys: ['zone'],
  usage: Float64Array.of(500, 2 ** 33, 4),
  constraints: [1, 2],
  ports: '',
};

/** How many descriptions are made for these claims. */
function madeFor(...claims: readonly DescriptionKey[]): number {
  const known = new DescriptionCache<object>();
  const made = new Set<object>();
  for (const claim of claims) made.add(known.of(claim, () => ({})));
  return made.size;
}

test('equal planned claims are described once', () => {
  expect(madeFor(base, { ...base, usage: Float64Array.from(base.usage), keys: ['zone'] }, base)).toBe(1);
});

test('a cached undefined description is not computed again', () => {
  const known = new DescriptionCache<undefined>();
  let times = 0;
  const make = (): undefined => {
    times++;
  };
  for (let k = 0; k < 2; k++) known.of(base, make);
  expect(times).toBe(1);
});

test.each<[string, Partial<DescriptionKey>]>([
  ['row', { row: 4 }],
  ['capacity type', { capacityType: 'spot' }],
  ['keys', { keys: ['zone', 'host'] }],
  ['constraints', { constraints: [1] }],
  ['host ports', { ports: ' TCP//80' }],
  ['usage', { usage: Float64Array.of(500, 2 ** 33, 5) }],
  ['usage by fractions, for which hashes are equal', { usage: Float64Array.of(500.5, 2 ** 33, 4) }],
  ['usage beyond 32 bits', { usage: Float64Array.of(500, 2 ** 34, 4) }],
])('claims with another %s are described anew', (_, other) => {
  expect(madeFor(base, { ...base, ...other })).toBe(2);
});

import { expect, test } from '@jest/globals';
import { typesOfSpotToSpot, whyNoSpotToSpot } from './spot-to-spot.js';

test('a spot node is replaced by spot of at least fifteen types (consolidation/spot-to-spot)', () => {
  expect(whyNoSpotToSpot(15)).toBeUndefined();
  expect(whyNoSpotToSpot(14)).toBe(
    'a spot node is replaced by spot only if at least 15 cheaper instance types can be used, and there are 14',
  );
  expect(whyNoSpotToSpot(1)).toMatch(/there is 1$/);
});

test.each([
  { available: 60, least: 0, types: 15 },
  { available: 60, least: 18, types: 18 },
  { available: 16, least: 18, types: 16 },
  { available: 15, least: 18, types: 15 },
])('with $available types, as many as minValues needs: $least', ({ available, least, types }) => {
  expect(typesOfSpotToSpot(available, (count) => count < least)).toBe(types);
});

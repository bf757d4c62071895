import { expect, test } from '@jest/globals';
import { timeText, millisecondsOf } from './time.js';

test.each([
  [Date.parse('2026-01-05T12:00:00.123Z'), '2026-01-05T12:00:00Z'],
  ['2026-01-05T12:00:00.999Z', '2026-01-05T12:00:00Z'],
  ['2026-01-05T12:00:00Z', '2026-01-05T12:00:00Z'],
  ['2026-01-05T14:00:00+02:00', '2026-01-05T12:00:00Z'],
  ['soon', 'soon'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
])('%s is written to the second, in UTC', (at, expected) => {
  expect(timeText(at)).toBe(expected);
});

const seconds = (value: number): { toNumber(): number } => ({ toNumber: () => value });

test('a protobuf timestamp is milliseconds, and undefined where absent', () => {
  expect(millisecondsOf({ seconds: seconds(12), nanos: 345_678_901 })).toBe(12_345);
  expect(millisecondsOf({ nanos: 5_000_000 })).toBe(5);
  expect(millisecondsOf({ seconds: seconds(3) })).toBe(3000);
  expect(millisecondsOf({})).toBe(0);
  expect([millisecondsOf(null), millisecondsOf(undefined)]).toEqual([undefined, undefined]);
});

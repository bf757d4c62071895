import { expect, test } from 'vitest';
import { millisecondsOf } from './timestamps.js';

const seconds = (value: number): { toNumber(): number } => ({ toNumber: () => value });

test('a timestamp of protobuf is milliseconds, and none where there is none', () => {
  expect(millisecondsOf({ seconds: seconds(12), nanos: 345_678_901 })).toBe(12_345);
  expect(millisecondsOf({ nanos: 5_000_000 })).toBe(5);
  expect(millisecondsOf({ seconds: seconds(3) })).toBe(3000);
  expect(millisecondsOf({})).toBe(0);
  expect([millisecondsOf(null), millisecondsOf(undefined)]).toEqual([undefined, undefined]);
});

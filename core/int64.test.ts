import { expect, test } from '@jest/globals';
import { int64Of } from './int64.js';

test.each<[string | undefined, bigint | undefined]>([
  ['0', 0n],
  ['-0', 0n],
  ['007', 7n],
  ['-5', -5n],
  ['+5', 5n],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['9223372036854775807', 9_223_372_036_854_775_807n],
  ['9223372036854775808', undefined],
  ['-9223372036854775808', -9_223_372_036_854_775_808n],
  ['-9223372036854775809', undefined],
  ['', undefined],
  ['+', undefined],
  ['4.0', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  [' 4', undefined],
  [undefined, undefined],
])('%j is read as Go reads it: %s (requirements/integers)', (text, expected) => {
  expect(int64Of(text)).toBe(expected);
});

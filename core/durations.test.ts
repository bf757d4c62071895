import { describe, expect, test } from '@jest/globals';
import { DurationError, parseDuration, parseNillableDuration } from './durations.js';

describe('parseDuration', () => {
  test.each([
    ['30s', 30_000],
    ['1h30m', 5_400_000],
    ['720h', 2_592_000_000],
    ['250ms', 250],
    ['1.5h', 5_400_000],
    ['+1h', 3_600_000],
    ['.5m1.s', 31_000],
    ['90000000us', 90_000],
    ['90000000\u00b5s', 90_000],
    ['1500000ns', 1.5],
    ['99999999999h', 9_223_372_036_854],
  ])('%s is %d ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  test.each(['', '10', 's', '5d', '-1s', '.s', '1h-5m', '1h ', 'Never'])('refuses "%s" and names the field', (text) => {
    expect(() => parseDuration(text, 'spec.expireAfter')).toThrow(DurationError);
    expect(() => parseDuration(text, 'spec.expireAfter')).toThrow('spec.expireAfter');
  });

  test('a text longer than any duration is refused, and the message gives the allowed length', () => {
    const long = '1h'.repeat(128 * 1024);
    expect(() => parseDuration(long, 'spec.expireAfter')).toThrow('128 characters at most');
    expect(parseDuration('1h'.repeat(64))).toBe(64 * 3_600_000);
  });

  test('Never and an absent duration mean without limit', () => {
    expect(parseNillableDuration('Never')).toBe(Infinity);
    expect(parseNillableDuration(undefined)).toBe(Infinity);
    expect(parseNillableDuration('1m')).toBe(60_000);
  });
});

import { expect, test } from '@jest/globals';
import { cutText, compareText, onOneLine, printable, snakeCase } from './text.js';

test('a text within the limit is unchanged, a longer one is cut and says its length', () => {
  expect(cutText('short', 5)).toBe('short');
  expect(cutText('x'.repeat(100), 50)).toBe(`${'x'.repeat(31)} … (100 characters)`);
  expect(cutText('x'.repeat(100), 50)).toHaveLength(50);
});

test('texts are ordered by code units, and equal texts compare as 0', () => {
  expect(['b', 'a', 'B', '', 'é', 'z', 'a'].sort(compareText)).toEqual(['', 'B', 'a', 'a', 'b', 'z', 'é']);
  expect(compareText('a', 'a')).toBe(0);
});

test('control characters are printed as their codes', () => {
  expect(printable('\u001b[31mred\u001b]0;title\u0007')).toBe('\\u001b[31mred\\u001b]0;title\\u0007');
  expect(printable('a\u202eb\rc\u009b2Jd')).toBe('a\\u202eb\\u000dc\\u009b2Jd');
});

test('printing keeps line ends, tabs and letters of other scripts', () => {
  expect(printable('é 日本語 💣\n\t│ a │\n')).toBe('é 日本語 💣\n\t│ a │\n');
});

test('a text of others is printed on one line, without runs of spaces', () => {
  const text = 'a\n\nWrong\r\n  b\u2028c\u0085d' + ' '.repeat(200) + 'e';
  expect(onOneLine({ rows: [[text]], at: 1, none: undefined })).toEqual({
    rows: [['a Wrong b c d e']],
    at: 1,
    none: undefined,
  });
});

test.each([
  ['AcceleratedHardwareReady', 'accelerated_hardware_ready'],
  ['WhenEmptyOrUnderutilized', 'when_empty_or_underutilized'],
  ['Balanced', 'balanced'],
  ['DNSReady', 'dns_ready'],
  ['spot_interrupted', 'spot_interrupted'],
  ['', ''],
])('%s is %s', (text, expected) => {
  expect(snakeCase(text)).toBe(expected);
});

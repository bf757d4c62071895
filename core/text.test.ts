import { expect, test } from 'vitest';
import { cutText, compareText, onOneLine, printable, snakeCase } from './text.js';

test('a text that fits is as it was, a longer one ends with how long it was', () => {
  expect(cutText('short', 5)).toBe('short');
  expect(cutText('x'.repeat(100), 50)).toBe(`${'x'.repeat(31)} … (100 characters)`);
  expect(cutText('x'.repeat(100), 50)).toHaveLength(50);
});

test('texts are ordered by their code units, equal ones not at all', () => {
  expect(['b', 'a', 'B', '', 'é', 'z', 'a'].sort(compareText)).toEqual(['', 'B', 'a', 'a', 'b', 'z', 'é']);
  expect(compareText('a', 'a')).toBe(0);
});

test('what a terminal would act on is shown as its code', () => {
  expect(printable('\u001b[31mred\u001b]0;title\u0007')).toBe('\\u001b[31mred\\u001b]0;title\\u0007');
  expect(printable('a\u202eb\rc\u009b2Jd')).toBe('a\\u202eb\\u000dc\\u009b2Jd');
});

test('lines, tables and other scripts stay as they are', () => {
  expect(printable('é 日本語 💣\n\t│ a │\n')).toBe('é 日本語 💣\n\t│ a │\n');
});

test('texts of others stay on one line, in which spaces fill none, wherever they stand', () => {
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

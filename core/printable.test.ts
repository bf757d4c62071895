import { expect, test } from 'vitest';
import { onOneLine, printable } from './printable.js';

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

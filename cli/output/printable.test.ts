import { expect, test } from 'vitest';
import { printable } from './printable.js';

test('what a terminal would act on is shown as its code', () => {
  expect(printable('\u001b[31mred\u001b]0;title\u0007')).toBe('\\u001b[31mred\\u001b]0;title\\u0007');
  expect(printable('a\u202eb\rc\u009b2Jd')).toBe('a\\u202eb\\u000dc\\u009b2Jd');
});

test('lines, tables and other scripts stay as they are', () => {
  expect(printable('é 日本語 💣\n\t│ a │\n')).toBe('é 日本語 💣\n\t│ a │\n');
});

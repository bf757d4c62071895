import { expect, test } from 'vitest';
import { cutText } from './cut-text.js';

test('a text that fits is as it was, a longer one ends with how long it was', () => {
  expect(cutText('short', 5)).toBe('short');
  expect(cutText('x'.repeat(100), 50)).toBe(`${'x'.repeat(31)} … (100 characters)`);
  expect(cutText('x'.repeat(100), 50)).toHaveLength(50);
});

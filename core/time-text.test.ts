import { expect, test } from 'vitest';
import { timeText } from './time-text.js';

test.each([
  [Date.parse('2026-01-05T12:00:00.123Z'), '2026-01-05T12:00:00Z'],
  ['2026-01-05T12:00:00.999Z', '2026-01-05T12:00:00Z'],
  ['2026-01-05T12:00:00Z', '2026-01-05T12:00:00Z'],
  ['2026-01-05T14:00:00+02:00', '2026-01-05T12:00:00Z'],
  ['soon', 'soon'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
])('%s is told to the second, in UTC', (at, told) => {
  expect(timeText(at)).toBe(told);
});

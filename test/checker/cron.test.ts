import { expect, test } from '@jest/globals';
import { isWindowOpen } from './cron.js';

const hour = 3_600_000;
/** 2026-01-05 is a Monday. */
const at = (time: string): number => Date.parse(`${time}:00Z`);

test.each([
  ['0 9 * * 1-5', '2026-01-05T08:59', false],
  ['0 9 * * 1-5', '2026-01-05T09:00', true],
  ['0 9 * * 1-5', '2026-01-05T09:59', true],
  ['0 9 * * 1-5', '2026-01-05T10:00', false],
  ['0 9 * * mon-FRI', '2026-01-05T09:30', true],
  ['0 9 * * sat,sun', '2026-01-05T09:30', false],
  ['0 9 ? jan *', '2026-01-05T09:30', true],
  ['0 9 * feb *', '2026-01-05T09:30', false],
  ['*/20 * * * *', '2026-01-05T09:30', true],
  ['@hourly', '2026-01-05T09:30', true],
  ['@daily', '2026-01-05T00:30', true],
  ['@midnight', '2026-01-05T01:30', false],
  ['@weekly', '2026-01-04T00:30', true],
  ['@weekly', '2026-01-05T00:30', false],
  ['@monthly', '2026-01-01T00:30', true],
  ['@yearly', '2026-01-01T00:30', true],
  ['@annually', '2026-02-01T00:30', false],
  // Of a day of the month and one of the week, either is enough.
  ['0 9 20 * mon', '2026-01-05T09:30', true],
  ['0 9 20 * mon', '2026-01-20T09:30', true],
  ['0 9 20 * mon', '2026-01-06T09:30', false],
])('isWindowOpen: an hour from each match of "%s", at %s: %s (budgets/schedule)', (schedule, time, isOpen) => {
  expect(isWindowOpen(schedule, hour, at(time))).toBe(isOpen);
});

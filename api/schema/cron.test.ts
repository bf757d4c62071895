import { describe, expect, test } from '@jest/globals';
import { cronProblem } from './cron.js';

// Rule `budgets/cron-expressions`.
describe('cronProblem', () => {
  test.each([
    '* * * * *',
    '0 9 * * mon-fri',
    '0 9 * * MON-FRI',
    '*/15 0-6,22 1 jan-mar ?',
    '5/10 0 * * 0',
    ' 0 9 * * 1 ',
    '0 0 31 12 6',
    '@annually',
    '@yearly',
    '@monthly',
    '@weekly',
    '@daily',
    '@midnight',
    '@hourly',
  ])('accepts %j', (expression) => {
    expect(cronProblem(expression)).toBeUndefined();
  });

  test.each([
    ['61 9 * * *', 'minute "61" is not within 0 to 59'],
    ['0 24 * * *', 'hour "24" is not within 0 to 23'],
    ['0 0 0 * *', 'day of month "0" is not within 1 to 31'],
    ['0 0 * 13 *', 'month "13" is not within 1 to 12'],
    ['0 0 * * 7', 'day of week "7" is not within 0 to 6'],
    ['0 0 * foo *', 'month "foo" is not within 1 to 12'],
    ['0 9-5 * * *', 'hour "9-5" ends before it begins'],
    ['0 1-2-3 * * *', 'hour "1-2-3" is not a range'],
    ['*/0 * * * *', 'minute "*/0" needs a whole number above 0 as step'],
    ['*/x * * * *', 'minute "*/x" needs a whole number above 0 as step'],
    ['1/2/3 * * * *', 'minute "1/2/3" has two steps'],
    [',5 * * * *', 'minute "" is not within 0 to 59'],
    ['0 9 * *', '4 fields instead of 5'],
    ['0 0 9 * * *', '6 fields instead of 5'],
    ['TZ=UTC 0 9 * * *', '6 fields instead of 5'],
    ['@reboot', '"@reboot" is none of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly'],
  ])('gives the problem of %j', (expression, problem) => {
    expect(cronProblem(expression)).toBe(problem);
  });
});

import { describe, expect, test } from '@jest/globals';
import { Purse } from './purse.js';

const minute = 60_000;
const purseAt = (dollars: number) => {
  let now = 0;
  return { purse: new Purse(dollars, () => now), pass: (ms: number) => (now += ms) };
};

describe('the cost limit of the AWS suite', () => {
  test('counts running instances by time, for at least a minute', () => {
    const { purse, pass } = purseAt(10);
    purse.started('i-1', 6);
    pass(1_000);
    purse.ended('i-1');
    expect(purse.spent).toBeCloseTo(0.1);
    purse.started('i-2', 6);
    pass(10 * minute);
    expect(purse.spent).toBeCloseTo(1.1);
    purse.ended('i-2');
    pass(60 * minute);
    expect(purse.spent).toBeCloseTo(1.1);
  });

  test('reserves the highest cost of a step, and refuses a step that could exceed the limit', () => {
    const { purse } = purseAt(2);
    const step = { machines: 3, perHour: 2, minutes: 15 };
    expect(purse.hold(step)).toBeUndefined();
    expect(purse.hold(step)).toBe('it could cost $1.50, and $0.50 are left');
    purse.release(step);
    expect(purse.hold(step)).toBeUndefined();
  });

  test('does not have for the next step what was spent', () => {
    const { purse, pass } = purseAt(2);
    purse.started('i-1', 6);
    pass(10 * minute);
    expect(purse.hold({ machines: 1, perHour: 6, minutes: 11 })).toContain('$1.00 are left');
    expect(purse.hold({ machines: 1, perHour: 6, minutes: 9 })).toBeUndefined();
  });
});

import { describe, expect, test } from '@jest/globals';
import { mostOf } from './budget-watch.js';

const at = (time: string): number => Date.parse(`2026-01-05T${time}Z`);

describe("how many of 11 nodes budgets let be disrupted, by the simulation's check", () => {
  test.each([
    ['with a number', [{ nodes: '3' }], 'Empty', 3],
    ['with a percentage, rounded up', [{ nodes: '20%' }], 'Empty', 3],
    ['with several budgets, the least', [{ nodes: '20%' }, { nodes: '1' }], 'Empty', 1],
    [
      'with a budget of another reason, which does not count',
      [{ nodes: '20%' }, { nodes: '0', reasons: ['Drifted' as const] }],
      'Empty',
      3,
    ],
    ['with a budget of its reason', [{ nodes: '20%' }, { nodes: '0', reasons: ['Drifted' as const] }], 'Drifted', 0],
    ['without budgets', [], 'Empty', 11],
  ])('%s: %j for %s give %d', (_, budgets, reason, expected) => {
    expect(mostOf(budgets, reason, 11, at('12:00:00'))).toBe(expected);
  });

  test.each([
    ['within its window', '12:55:00', 0],
    ['before its window', '12:25:00', 11],
    ['just after its begin, while earlier decisions are still carried out', '12:31:00', 11],
    ['after its window', '12:01:00', 11],
  ])('with a schedule, %s (%s): %d', (_, time, expected) => {
    expect(mostOf([{ nodes: '0', schedule: '30 * * * *', duration: '30m' }], 'Empty', 11, at(time))).toBe(expected);
  });
});

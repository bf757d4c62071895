import { describe, expect, test } from '@jest/globals';
import { mostOf } from './budget-watch.js';

const at = (time: string): number => Date.parse(`2026-01-05T${time}Z`);

describe("the simulation's check that no more nodes are disrupted than budgets allow", () => {
  test.each([
    ['a number', [{ nodes: '3' }], 'Empty', 3],
    ['a percentage, rounded up', [{ nodes: '20%' }], 'Empty', 3],
    ['the least of several', [{ nodes: '20%' }, { nodes: '1' }], 'Empty', 1],
    ['those of other reasons not', [{ nodes: '20%' }, { nodes: '0', reasons: ['Drifted' as const] }], 'Empty', 3],
    ['those of its reason', [{ nodes: '20%' }, { nodes: '0', reasons: ['Drifted' as const] }], 'Drifted', 0],
    ['no budget at all', [], 'Empty', 11],
  ])('%s', (_, budgets, reason, expected) => {
    expect(mostOf(budgets, reason, 11, at('12:00:00'))).toBe(expected);
  });

  test.each([
    ['within its window', '12:55:00', 0],
    ['before its window', '12:25:00', 11],
    ['just after it began, when what was decided before still goes on', '12:31:00', 11],
    ['after its window', '12:01:00', 11],
  ])('by schedule, %s', (_, time, expected) => {
    expect(mostOf([{ nodes: '0', schedule: '30 * * * *', duration: '30m' }], 'Empty', 11, at(time))).toBe(expected);
  });
});

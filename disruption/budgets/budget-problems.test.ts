import { describe, expect, test } from '@jest/globals';
import { nodePool } from '../../test/builders/activity-world.js';
import { budgetProblems } from './budget-problems.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const nightly = { schedule: '0 2 * * *', duration: '2h' };
const problems = (...budgets: object[]): readonly string[] =>
  budgetProblems(nodePool('default', { disruption: { budgets } }), now);

// Rule `budgets/without-effect`.
describe('problems of budgets without effect', () => {
  test('a scheduled budget beside a permanent budget of 0 nodes has no effect', () => {
    expect(problems({ nodes: '0' }, { nodes: '10%', ...nightly })).toEqual([
      'spec.disruption.budgets[1].nodes: it has no effect (found "10%"): spec.disruption.budgets[0] lets 0 go at any time, ' +
        'allowed: budgets of which the least is the one meant; give the stricter one a schedule',
    ]);
  });

  test.each([
    ['the stricter one has a schedule', [{ nodes: '0', ...nightly }, { nodes: '10%' }]],
    [
      'it is about other reasons',
      [
        { nodes: '0', reasons: ['Drifted'] },
        { nodes: '10%', reasons: ['Empty'] },
      ],
    ],
    ['it leaves a reason to the other', [{ nodes: '0', reasons: ['Drifted'] }, { nodes: '10%' }]],
    ['which is less depends on the size of the pool', [{ nodes: '10%' }, { nodes: '5' }]],
    ['they say the same', [{ nodes: '0' }, { nodes: '0%' }]],
    ['there is but one', [{ nodes: '0' }]],
  ])('no problem is reported when %s', (_what, budgets) => {
    expect(problems(...budgets)).toEqual([]);
  });

  test('a stricter budget for the same reasons makes another one ineffective', () => {
    const [only, ...others] = problems({ nodes: '5%' }, { nodes: '20%', reasons: ['Empty'], ...nightly });
    expect(only).toContain('spec.disruption.budgets[1].nodes: it has no effect (found "20%")');
    expect(others).toEqual([]);
  });

  test('a schedule with dates that do not exist has no effect', () => {
    expect(problems({ nodes: '0', schedule: '0 0 30 2 *', duration: '1h' })[0]).toContain(
      'spec.disruption.budgets[0].schedule: the window never opens (found "0 0 30 2 *")',
    );
  });
});

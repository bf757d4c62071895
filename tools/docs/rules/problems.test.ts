import { describe, expect, test } from '@jest/globals';
import { problemsOf, rulesOf } from './problems.mjs';

const page = (text: string) => ({ page: 'budgets', text });
const budgets = page('# Budgets\n\n### rounding\n\nUp.\n\n### schedule\n\nIn UTC.\n\n_Not tested: it cannot be._\n');
const problems = (text: string, file = 'core/a.ts') =>
  problemsOf([budgets], [{ file, text }, cites('budgets/rounding')], (each) => each.endsWith('.test.ts'));
const cites = (rule: string) => ({ file: 'core/cites.test.ts', text: `// Rule \`${rule}\`.` });

test('rules are read from the headings of a page, with the reason why one is not tested', () => {
  expect(rulesOf(budgets)).toEqual([
    { rule: 'budgets/rounding', untested: undefined },
    { rule: 'budgets/schedule', untested: 'it cannot be' },
  ]);
});

describe('citations of behaviour rules', () => {
  test.each([
    '/** Up (budgets/rounding). */',
    '/** Up (budgets/rounding, budgets/schedule: in UTC). */',
    '// Rules `budgets/rounding`, `budgets/schedule`.',
    "['launch/uid-1', 'budgets/none'], budgets/others and (see disruption/pods.ts)",
  ])('%s is valid', (text) => {
    expect(problems(text)).toEqual([]);
  });

  test.each([
    ['(budgets/rouding)', 'core/a.ts:1: cites budgets/rouding, which is no rule'],
    ['a\n(gate X; budgets/rouding)', 'core/a.ts:2: cites budgets/rouding, which is no rule'],
    ['(budget/rounding)', 'core/a.ts:1: cites budget/rounding, which is no rule (budgets/rounding is one)'],
    ['Rule `limits/nodes`: as', 'core/a.ts:1: cites limits/nodes, which is no rule'],
  ])('%j is reported as unknown', (text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  test.each([
    '(section 4.2)',
    '(sections\n * 4.2, 4.5)',
    'Scenario 71',
    'invariant 10',
    '§4.1',
    "test('71: an answer', ",
  ])('%j is reported as a citation by number', (text) => {
    expect(problems(text)).toEqual([expect.stringMatching(/^core\/a\.ts:1: ".*" cites by number/)]);
  });

  test('an option with a number, such as --scenario 300, is no citation', () => {
    expect(problems('npm run bench:race -- --scenario 300 large')).toEqual([]);
  });
});

describe('a behaviour rule', () => {
  test('that no test cites is reported, also where product code cites it', () => {
    expect(problemsOf([budgets], [{ file: 'core/a.ts', text: '(budgets/rounding)' }], () => false)).toEqual([
      expect.stringMatching(/^budgets\/rounding: no test cites it/),
    ]);
  });

  test('that is marked untested and has a test is reported', () => {
    expect(problems('(budgets/schedule)', 'core/a.test.ts')).toEqual([
      'budgets/schedule: a test cites it, though its page says "Not tested"',
    ]);
  });

  test('that is defined twice, and a link to an unknown rule, are reported', () => {
    const text = '### rounding\n\n### rounding\n\nSee [there](budgets.md#none).\n';
    expect(problemsOf([page(text)], [cites('budgets/rounding')], () => true)).toEqual([
      'docs/behaviour: rule budgets/rounding is there twice',
      'docs/behaviour/budgets.md: links to budgets.md#none, which is not there',
    ]);
  });
});

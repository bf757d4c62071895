import { expect, test } from '@jest/globals';
import { outcomesOf, summaryOf, type SpecReport } from './report.js';

const spec = (LeafNodeText: string, State: string, more: Partial<SpecReport> = {}): SpecReport => ({
  ContainerHierarchyTexts: ['Drift', 'Budgets'],
  LeafNodeType: 'It',
  RunTime: 2.4e9,
  LeafNodeText,
  State,
  ...more,
});

test("Karpenter's suite: specs are reported by whole title; intended differences give the reason until they pass", () => {
  const reports = [
    spec('', 'passed', { LeafNodeType: 'BeforeSuite' }),
    spec('holds', 'passed'),
    spec('fails', 'failed', { Failure: { Message: 'Timed out after 900s.\nExpected' } }),
    spec('is chosen', 'timedout'),
    spec('was chosen', 'passed'),
    spec('is not asked for', 'skipped'),
  ];
  const onPurpose = new Map([
    ['Drift Budgets is chosen', 'pods come first'],
    ['Drift Budgets was chosen', 'pods come first'],
  ]);

  const outcomes = outcomesOf([{ SpecReports: reports }], onPurpose);

  expect(outcomes).toEqual([
    { title: 'Drift Budgets holds', outcome: 'passed', seconds: 2 },
    { title: 'Drift Budgets fails', outcome: 'failed', seconds: 2, why: 'Timed out after 900s.\nExpected' },
    { title: 'Drift Budgets is chosen', outcome: 'differs', seconds: 2, why: 'pods come first' },
    { title: 'Drift Budgets was chosen', outcome: 'passed', seconds: 2 },
  ]);
  expect(summaryOf(outcomes)).toBe(
    [
      'failed: Drift Budgets fails',
      '    Timed out after 900s.',
      'differs: Drift Budgets is chosen',
      '    pods come first',
      '2 passed, 1 differ on purpose, 1 failed',
    ].join('\n'),
  );
});

test("Karpenter's suite: a run without specs has none to report", () => {
  expect(outcomesOf([{ SpecReports: null }], new Map())).toEqual([]);
});

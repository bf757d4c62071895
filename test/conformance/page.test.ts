import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { awsProvider, conformancePage, karpenter, type Upstream } from '../../tools/docs/conformance/page.mjs';
import { movedTests, testsOf } from '../../tools/docs/conformance/upstream.mjs';
import { apart, awsApart, awsSuites, suites } from './index.js';
import { notApplicable, same, type Suite } from './conformance-case.js';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const check = { outcome: () => 1, expected: 1 };
const small: Upstream = {
  commit: 'c'.repeat(40),
  suites: {
    'pkg/a_test.go': [
      [3, 'aaaaaaaa'],
      [9, 'bbbbbbbb'],
    ],
  },
};
const pageOf = (...cases: Suite['cases']): string => conformancePage([{ path: 'pkg/a_test.go', cases }], [], small);

test.each([
  ['core', suites, apart, './upstream.json', karpenter],
  ['AWS provider', awsSuites, awsApart, './aws/upstream.json', awsProvider],
] as const)('every case of %s names a test of Karpenter, and no test has two cases', (_, cases, folders, list, of) => {
  expect(() => conformancePage(cases, folders, JSON.parse(read(list)) as Upstream, of)).not.toThrow();
});

test('every behaviour rule that a difference cites exists', () => {
  const cited = [...suites, ...awsSuites].flatMap(({ cases }) =>
    cases.flatMap(({ rule }) => (rule === undefined ? [] : [rule])),
  );
  const missing = cited.filter((rule) => {
    const [page, name] = rule.split('/') as [string, string];
    const file = new URL(`../../docs/behaviour/${page}.md`, import.meta.url);
    return !existsSync(file) || !readFileSync(file, 'utf8').split('\n').includes(`### ${name}`);
  });
  expect(missing).toEqual([]);
});

describe('the generated page of conformance cases', () => {
  test('counts the cases by suite, with those left out', () => {
    expect(pageOf(same(3, 'one', check))).toContain('| `pkg/a_test.go` | 2 | 1 | 0 | 0 | 1 |');
    expect(pageOf(same(3, 'one', check), notApplicable(9, 'two', 'none'))).toContain('| 2 | 1 | 0 | 1 | 0 |');
  });

  test('refuses a case that names a line without a test, and two cases of one test', () => {
    expect(() => pageOf(same(4, 'one', check))).toThrow('"one" names line 4, where no test begins');
    expect(() => pageOf(same(3, 'one', check), same([9, 3], 'two', check))).toThrow('"two" names line 3');
  });
});

describe("the list of Karpenter's tests", () => {
  const source = [
    'var _ = x',
    '\tContext("a", func() {',
    '\t\tIt("b", func() {',
    '\t\tDescribeTable("c",',
    '\t\t\tEntry("d", 1),',
  ].join('\n');

  test('has each Ginkgo test by its line', () => {
    expect(testsOf(source).map(([line]) => line)).toEqual([3, 5]);
  });

  test('identifies a test by its title and those of its containers', () => {
    const [[, first] = []] = testsOf(source);
    const [[, renamed] = []] = testsOf(source.replace('"a"', '"other"'));
    expect(first).not.toBe(renamed);
  });

  test('finds tests that moved to another line or were removed', () => {
    const suitesBefore = [{ path: 'pkg/a_test.go', cases: [same([3, 9], 'one', check)] }];
    const after: Upstream = { ...small, suites: { 'pkg/a_test.go': [[5, 'aaaaaaaa']] } };
    expect(movedTests(suitesBefore, small, after)).toEqual([
      { path: 'pkg/a_test.go', from: 3, to: 5 },
      { path: 'pkg/a_test.go', from: 9 },
    ]);
  });
});

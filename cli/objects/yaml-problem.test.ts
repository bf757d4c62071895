import { LineCounter, parseAllDocuments } from 'yaml';
import { describe, expect, test } from 'vitest';
import { parseDocument } from './read-documents.js';
import { firstProblem, problemText } from './yaml-problem.js';

function problemOf(text: string): string | undefined {
  const lineCounter = new LineCounter();
  const errors = parseAllDocuments(text, { prettyErrors: false, lineCounter });
  const problem = Array.isArray(errors) ? firstProblem(errors.flatMap((each) => each.errors), lineCounter) : undefined; // prettier-ignore
  return problem && problemText(problem, text);
}

describe('where YAML breaks', () => {
  test('is told with its line and column, and what stands there', () => {
    expect(problemOf('kind: Pod')).toBeUndefined();
    expect(problemOf('kind: Pod\nspec: [1,\n')).toMatch(/ at line 3, column 1:\n\n\n\^$/);
    expect(problemOf('kind: Pod\nspec: "a" b\n')).toMatch(/ at line 2, column 11:\n\nspec: "a" b\n {10}\^$/);
  });

  test('shows a part of a long line', () => {
    const lines = problemOf(`${'a'.repeat(100)}: "a" ${'b'.repeat(100)}`)?.split('\n') ?? [];
    expect(lines[2]).toMatch(/^a+: "a" b+$/);
    expect(lines[2]?.[lines[3]!.length - 1]).toBe('b');
    expect(lines[2]?.length).toBe(80);
  });

  // Tens of thousands of errors: the fuzzer holds readers to a second each (test/property/fuzz.test.ts).
  test.each(['*'.concat('['.repeat(60_000)), '*a['.repeat(30_000)])(
    'is told once, however often it breaks: %#',
    (text) => {
      expect(() => parseDocument(text, 'f')).toThrow(/^f: not valid YAML: .* at line 1, column /);
    },
  );
});

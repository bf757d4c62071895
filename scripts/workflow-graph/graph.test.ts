import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { chartOf, startsOf } from './graph.mjs';
import { withChart } from './page.mjs';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const starts = startsOf(at('workflows'));

test('docs/architecture.md draws who starts whom as the code has it (npm run workflow-graph)', () => {
  const page = readFileSync(at('docs/architecture.md'), 'utf8');
  expect(withChart(page, chartOf(starts))).toBe(page);
});

test('a start is found through the functions that a workflow calls, and no other', () => {
  expect(starts).toContainEqual(['consolidate', 'launchNode']);
  expect(starts).toContainEqual(['expireNode', 'terminateNode']);
  expect(starts).toContainEqual(['replaceDrifted', 'replaceNode']);
  expect(starts.filter(([from]) => from === 'launchNode' || from === 'terminateNode')).toEqual([]);
});

test('a page without its marks is told', () => {
  expect(() => withChart('# Architecture', 'chart')).toThrow('docs/architecture.md');
});

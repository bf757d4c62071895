import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { billExamples, extras, pricesOf, region } from '../../bench/bills.js';
import { billsPage } from './page.mjs';

/** Tables as cells: how they are aligned does not matter. */
const cells = (page: string): string[] =>
  page.split('\n').map((line) => line.replace(/ +/g, ' ').replace(/-{3,}/g, '---'));

test('docs/bills.md is what planning says (npm run bills)', () => {
  const page = readFileSync('docs/bills.md', 'utf8');
  expect(cells(page)).toEqual(cells(billsPage({ examples: billExamples(), extras, pricesOf, region })));
});

// Rules `instance-types/whole-price`, `instance-types/commitments`.
test('whoever plans by the whole bill pays less than whoever ignores volumes and addresses, or a Savings Plan', () => {
  for (const { ignoring, counting } of billExamples()) {
    expect(counting.nodes).not.toBe(ignoring.nodes);
    expect(counting.billed).toBeLessThan(ignoring.billed);
  }
});

test('with volumes and addresses in it a plan says what the bill says; without, less', () => {
  const [{ ignoring, counting }] = billExamples() as [ReturnType<typeof billExamples>[number]];
  expect(counting.planned).toBeCloseTo(counting.billed, 9);
  expect(ignoring.planned).toBeLessThan(ignoring.billed);
});

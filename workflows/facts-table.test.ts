import { expect, test } from '@jest/globals';
import { factsTable } from './facts-table.js';

test('a facts table keeps any text of people in its cell', () => {
  expect(factsTable({ wave: 2, 'held by': 'ann (either a | b,\n  or c)' })).toEqual([
    '',
    '| | |',
    '| --- | --- |',
    '| wave | 2 |',
    '| held by | ann (either a \\| b, or c) |',
  ]);
  expect(factsTable({})).toEqual([]);
});

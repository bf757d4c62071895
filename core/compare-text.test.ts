import { expect, test } from 'vitest';
import { compareText } from './compare-text.js';

test('texts are ordered by their code units, equal ones not at all', () => {
  expect(['b', 'a', 'B', '', 'é', 'z', 'a'].sort(compareText)).toEqual(['', 'B', 'a', 'a', 'b', 'z', 'é']);
  expect(compareText('a', 'a')).toBe(0);
});

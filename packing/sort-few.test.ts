import { expect, test } from '@jest/globals';
import { sortFew } from './sort-few.js';

const random = (seed: number) => (n: number) => ((n + 1) * seed * 2654435761) % 7;

test.each([0, 1, 2, 5, 16, 17, 60])(
  'sortFew sorts %i elements as `sort` does, and keeps equal ones in order',
  (length) => {
    for (let seed = 1; seed < 20; seed++) {
      const list = Array.from({ length }, (_, place) => ({ key: random(seed)(place), place }));
      const expected = [...list].sort((a, b) => a.key - b.key);
      expect(sortFew(list, (a, b) => a.key - b.key)).toBe(list);
      expect(list).toEqual(expected);
    }
  },
);

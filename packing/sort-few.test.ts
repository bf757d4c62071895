import { expect, test } from 'vitest';
import { sortFew } from './sort-few.js';

const random = (seed: number) => (n: number) => ((n + 1) * seed * 2654435761) % 7;

test.each([0, 1, 2, 5, 16, 17, 60])(
  '%i elements are sorted as `sort` does, those that are equal as they are',
  (length) => {
    for (let seed = 1; seed < 20; seed++) {
      const list = Array.from({ length }, (_, place) => ({ key: random(seed)(place), place }));
      const expected = [...list].sort((a, b) => a.key - b.key);
      expect(sortFew(list, (a, b) => a.key - b.key)).toBe(list);
      expect(list).toEqual(expected);
    }
  },
);

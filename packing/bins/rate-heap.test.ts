import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { RateHeap } from './rate-heap.js';

test('the rate heap gives numbers by falling rate and equal ones in order, in whatever order they were added', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }), (rates) => {
      const heap = new RateHeap(rates.length);
      rates.forEach((rate, k) => heap.push(k, rate));
      // The first one falls, as a ceiling does that is looked at again.
      const first = heap.pop();
      const fallen = rates.map((rate, k) => (k === first ? rate / 2 : rate));
      heap.push(first, fallen[first]!);
      expect(heap.highest).toBe(Math.max(...fallen));
      const found = rates.map(() => heap.pop());
      expect(found).toEqual([...fallen.keys()].sort((a, b) => fallen[b]! - fallen[a]! || a - b));
      expect([heap.size, heap.highest]).toEqual([0, 0]);
    }),
  );
});

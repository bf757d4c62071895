import { describe, expect, test } from '@jest/globals';
import { filtered, isSameList, joined, mapped } from './lists.js';

describe('list helpers', () => {
  const list = [3, 1, 2];

  test('give the same as the built-in methods', () => {
    expect(mapped(list, (each) => each * 2)).toEqual(list.map((each) => each * 2));
    expect(filtered(list, (each) => each > 1)).toEqual(list.filter((each) => each > 1));
    expect(joined(list, [], [4])).toEqual([...list, 4]);
    expect([mapped([], String), filtered(list, () => false), joined()]).toEqual([[], [], []]);
  });

  test('return new lists', () => {
    expect(filtered(list, () => true)).not.toBe(list);
    expect(joined(list)).not.toBe(list);
  });

  test.each<[string, ArrayLike<unknown>, ArrayLike<unknown>, boolean]>([
    ['of the same entries', [1, 'a'], [1, 'a'], true],
    ['of amounts of two kinds', [1, 2], Float64Array.of(1, 2), true],
    ['without entries', [], [], true],
    ['where one goes on', [1], [1, 2], false],
    ['in another order', [1, 2], [2, 1], false],
    ['of objects that only look alike', [{}], [{}], false],
  ])('compare lists: %s', (_, a, b, expected) => {
    expect([isSameList(a, b), isSameList(b, a)]).toEqual([expected, expected]);
  });
});

import { describe, expect, test } from '@jest/globals';
import { filtered, joined, mapped } from './lists.js';

describe('lists', () => {
  const list = [3, 1, 2];

  test('are what the built-in methods make', () => {
    expect(mapped(list, (each) => each * 2)).toEqual(list.map((each) => each * 2));
    expect(filtered(list, (each) => each > 1)).toEqual(list.filter((each) => each > 1));
    expect(joined(list, [], [4])).toEqual([...list, 4]);
    expect([mapped([], String), filtered(list, () => false), joined()]).toEqual([[], [], []]);
  });

  test('are new ones', () => {
    expect(filtered(list, () => true)).not.toBe(list);
    expect(joined(list)).not.toBe(list);
  });
});

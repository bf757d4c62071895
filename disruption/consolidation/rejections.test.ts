import { describe, expect, jest, test } from '@jest/globals';
import type { FleetNode } from './fleet.js';
import { Rejections } from './rejections.js';

const named = (...names: string[]): FleetNode[] => names.map((name) => ({ name }) as FleetNode);
const texts = (rejections: Rejections, ...alive: string[]): string[] =>
  rejections.among(named(...alive)).map(({ candidates, why, saving }) => `${candidates.join('+')} ${why} ${saving}`);

describe('rejected commands of a search', () => {
  test('are sorted by saving, then by their nodes, while these exist', () => {
    const rejections = new Rejections();
    rejections.note(named('b'), 1, () => 'x');
    rejections.note(named('a'), 1, () => 'y');
    rejections.note(named('c', 'a'), 2, () => 'z');
    expect(texts(rejections, 'a', 'b', 'c')).toEqual(['c+a z 2', 'a y 1', 'b x 1']);
    expect(texts(rejections, 'a', 'b')).toEqual(['a y 1', 'b x 1']);
    expect(texts(rejections)).toEqual([]);
  });

  test('are the best for each set of nodes, in whatever order they were found', () => {
    const rejections = new Rejections();
    rejections.note(named('a', 'b'), 1, () => 'first');
    rejections.note(named('b', 'a'), 1, () => 'equal');
    expect(texts(rejections, 'a', 'b')).toEqual(['a+b first 1']);
    rejections.note(named('b', 'a'), 2, () => 'better');
    rejections.note(named('b', 'a'), 1.5, () => 'worse');
    expect(texts(rejections, 'a', 'b')).toEqual(['b+a better 2']);
  });

  test('are the five best', () => {
    const rejections = new Rejections();
    for (const [i, name] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) rejections.note(named(name), i, () => 'x');
    expect(texts(rejections, 'a', 'b', 'c', 'd', 'e', 'f')).toEqual(['f x 5', 'e x 4', 'd x 3', 'c x 2', 'b x 1']);
    const why = jest.fn(() => 'late');
    rejections.note(named('g', 'h'), 1, why);
    expect(why).not.toHaveBeenCalled();
    rejections.note(named('h', 'g'), 1.5, why);
    expect(texts(rejections, 'b', 'c', 'd', 'e', 'f', 'g', 'h')).toEqual([
      'f x 5',
      'e x 4',
      'd x 3',
      'c x 2',
      'h+g late 1.5',
    ]);
    rejections.note(named('f', 'e'), 9, () => 'x');
    rejections.note(named('f', 'd'), 9, () => 'x');
    expect(texts(rejections, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')).toHaveLength(5);
  });
});

describe('the rejected command for a single node', () => {
  test('is its best one, though others save more', () => {
    const rejections = new Rejections();
    expect(rejections.of('a')).toBeUndefined();
    rejections.note(named('a', 'b'), 9, () => 'both');
    expect(rejections.of('a')).toBeUndefined();
    rejections.note(named('a'), 1, () => 'first');
    rejections.note(named('a'), 1, () => 'equal');
    rejections.note(named('a'), 0, () => 'worse');
    expect(rejections.of('a')).toEqual({ candidates: ['a'], why: 'first', saving: 1 });
    rejections.note(named('a'), 2, () => 'better');
    expect(rejections.of('a')?.why).toBe('better');
    expect(rejections.of('b')).toBeUndefined();
  });

  test('is kept though it is not among the five best', () => {
    const rejections = new Rejections();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) rejections.note(named(name), 5, () => 'x');
    rejections.note(named('g'), 1, () => 'alone');
    expect(rejections.of('g')?.why).toBe('alone');
  });

  test('is undefined where nothing was rejected', () => {
    const rejections = new Rejections();
    rejections.note([], 1, () => 'x');
    expect(texts(rejections)).toEqual([' x 1']);
  });
});

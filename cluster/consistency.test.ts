import { describe, expect, test } from '@jest/globals';
import { shortfalls } from './consistency.js';

describe("shortfalls of a node's resources (registration/consistency)", () => {
  test.each<[string, string, string, boolean]>([
    ['has what its claim has', '4', '4', false],
    ['has a tenth less', '4', '3600m', false],
    ['has more than a tenth less', '4', '3599m', true],
    ['has none', '4', '0', true],
    ['has more', '4', '8', false],
    ['has none, as its claim', '0', '0', false],
  ])('a node that %s (%s, %s)', (_, expected, found, short) => {
    const result = shortfalls({ cpu: '100m' }, { cpu: expected }, { cpu: found });
    expect(result.map(({ resource }) => resource)).toEqual(short ? ['cpu'] : []);
  });

  test('are found only in requested resources, each by itself', () => {
    const promised = { cpu: '4', memory: '16Gi', 'nvidia.com/gpu': '4' };
    const there = { cpu: '4', memory: '8Gi', 'nvidia.com/gpu': '1' };

    expect(shortfalls({ cpu: '1', 'nvidia.com/gpu': '1' }, promised, there)).toEqual([
      { resource: 'nvidia.com/gpu', expected: 4, found: 1 },
    ]);
    expect(shortfalls({ memory: '1Gi' }, promised, {})).toEqual([
      { resource: 'memory', expected: 16 * 2 ** 30, found: 0 },
    ]);
    expect(shortfalls(undefined, promised, there)).toEqual([]);
  });
});

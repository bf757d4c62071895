import { describe, expect, test } from 'vitest';
import { KnownCapacity } from './known-capacity.js';

const seen = (capacity: Record<string, number>, expected: Record<string, number>) => ({
  ...{ instanceType: 'm7i.large', imageId: 'ami-1', nodeClassHash: 'h' },
  ...{ capacity, expected },
});

// Rule `instance-types/known-memory`.
describe('what nodes have of a resource', () => {
  test.each<[string, Record<string, number>, Record<string, number>, object | undefined]>([
    [
      'is known where it is less than was said',
      { 'ephemeral-storage': 999 },
      { 'ephemeral-storage': 1000 },
      { 'ephemeral-storage': 999 },
    ],
    ['is not where it is more', { 'ephemeral-storage': 1001 }, { 'ephemeral-storage': 1000 }, undefined],
    ['is not where it is implausible', { 'ephemeral-storage': 1 }, { 'ephemeral-storage': 1000 }, undefined],
    ['is not where it is memory, which is known by type and image', { memory: 999 }, { memory: 1000 }, undefined],
    ['is not where the node does not say', {}, { 'nvidia.com/gpu': 4 }, undefined],
    ['is known of any name', { __proto__x: 3, 'nvidia.com/gpu': 3 }, { 'nvidia.com/gpu': 4 }, { 'nvidia.com/gpu': 3 }],
  ])('%s', (_, capacity, expected, known) => {
    const all = new KnownCapacity();
    all.learn(seen(capacity, expected));
    expect(all.get('m7i.large', 'ami-1', 'h')).toEqual(known);
    expect(all.version).toBe(known === undefined ? 0 : 1);
  });

  test('is the least that was seen, of this type, image and node class alone', () => {
    const all = new KnownCapacity();
    for (const amount of [990, 980, 985]) all.learn(seen({ cpu: amount }, { cpu: 1000 }));
    expect([all.get('m7i.large', 'ami-1', 'h'), all.version]).toEqual([{ cpu: 980 }, 2]);
    expect(all.get('m7i.large', 'ami-1', 'other')).toBeUndefined();
  });
});

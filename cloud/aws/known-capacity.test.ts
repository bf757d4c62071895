import { describe, expect, test } from '@jest/globals';
import { KnownCapacity } from './known-capacity.js';

const seen = (capacity: Record<string, number>, expected: Record<string, number>) => ({
  ...{ instanceType: 'm7i.large', imageId: 'ami-1', nodeClassHash: 'h' },
  ...{ capacity, expected },
});

const own = { instanceType: 'm7i.large', imageId: 'ami-1', nodeClassHash: 'h' };

// Rule `instance-types/known-memory`.
describe('resources seen on registered nodes', () => {
  test.each<[string, string, Record<string, number>, Record<string, number>, number]>([
    ['is known where it is less than was said', 'x/nic', { 'x/nic': 999 }, { 'x/nic': 1000 }, 999],
    ['is not where it is more', 'x/nic', { 'x/nic': 1001 }, { 'x/nic': 1000 }, 1000],
    ['is not where it is implausible', 'x/nic', { 'x/nic': 1 }, { 'x/nic': 1000 }, 1000],
    ['is not where it is memory, which is known by type and image', 'memory', { memory: 999 }, { memory: 1000 }, 1000],
    ['is not where the node does not say', 'nvidia.com/gpu', {}, { 'nvidia.com/gpu': 4 }, 4],
    ['is known of any name', 'constructor', { constructor: 3 }, { constructor: 4 }, 3],
  ])('%s', (_, resource, capacity, expected, least) => {
    const all = new KnownCapacity();
    all.learn(seen(capacity, expected));
    const promised = expected[resource]!;
    expect(all.least(own, resource, promised)).toBe(least);
    expect(all.version).toBe(least < promised ? 1 : 0);
  });

  test('is the least that was seen, of this type, image and node class alone', () => {
    const all = new KnownCapacity();
    for (const amount of [990, 980, 985]) all.learn(seen({ cpu: amount }, { cpu: 1000 }));
    expect([all.least(own, 'cpu', 1000), all.version]).toEqual([980, 2]);
    expect(all.least({ ...own, nodeClassHash: 'other' }, 'cpu', 1000)).toBe(1000);
    expect(all.least({ ...own, instanceType: 'm7i.xlarge' }, 'cpu', 1000)).toBe(1000);
  });

  test('of the disk of a node class is that of every type which was to have as much', () => {
    const all = new KnownCapacity();
    const disk = 'ephemeral-storage';
    const other = { ...own, instanceType: 'r7i.8xlarge' };
    all.learn(seen({ [disk]: 999 }, { [disk]: 1000 }));
    expect([all.least(other, disk, 1000), all.least(other, disk, 4000)]).toEqual([999, 4000]);
    // A claim that promises what was learned, and a node that has less again.
    all.learn({ ...other, capacity: { [disk]: 998 }, expected: { [disk]: 999 } });
    expect(all.least(own, disk, 1000)).toBe(998);
    // Far less is believed of the type alone.
    all.learn({ ...other, capacity: { [disk]: 600 }, expected: { [disk]: 998 } });
    expect([all.least(other, disk, 1000), all.least(own, disk, 1000)]).toEqual([600, 998]);
  });
});

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
    ['is not where it is no amount', 'x/nic', { 'x/nic': NaN }, { 'x/nic': 1000 }, 1000],
    ['is not where the node does not say', 'nvidia.com/gpu', {}, { 'nvidia.com/gpu': 4 }, 4],
    ['is known of any name', 'constructor', { constructor: 3 }, { constructor: 4 }, 3],
  ])('%s', (_, resource, capacity, expected, least) => {
    const all = new KnownCapacity();
    all.learn(seen(capacity, expected), 0);
    const promised = expected[resource]!;
    expect(all.least(own, resource, promised)).toBe(least);
    expect(all.version).toBe(least < promised ? 1 : 0);
  });

  test('is the least that was seen, of this type, image and node class alone', () => {
    const all = new KnownCapacity();
    for (const amount of [990, 980, 985]) all.learn(seen({ cpu: amount }, { cpu: 1000 }), 0);
    expect([all.least(own, 'cpu', 1000), all.version]).toEqual([980, 2]);
    expect(all.least({ ...own, nodeClassHash: 'other' }, 'cpu', 1000)).toBe(1000);
    expect(all.least({ ...own, instanceType: 'm7i.xlarge' }, 'cpu', 1000)).toBe(1000);
  });

  test('for the disk of one type apply to all types of the node class with the same expected size', () => {
    const all = new KnownCapacity();
    const disk = 'ephemeral-storage';
    const other = { ...own, instanceType: 'r7i.8xlarge' };
    all.learn(seen({ [disk]: 999 }, { [disk]: 1000 }), 0);
    expect([all.least(other, disk, 1000), all.least(other, disk, 4000)]).toEqual([999, 4000]);
    // A claim that promises what was learned, and a node that has less again.
    all.learn({ ...other, capacity: { [disk]: 998 }, expected: { [disk]: 999 } }, 0);
    expect(all.least(own, disk, 1000)).toBe(998);
    // Far less is believed of the type alone.
    all.learn({ ...other, capacity: { [disk]: 600 }, expected: { [disk]: 998 } }, 0);
    expect([all.least(other, disk, 1000), all.least(own, disk, 1000)]).toEqual([600, 998]);
  });

  const whole = 8192;
  test.each<[string, readonly number[], number]>([
    ['is the lowest that nodes report', [7600, 7500, 7550], 7500],
    ['ignores a report of one byte', [1 / 2 ** 20], whole],
    ['ignores reports of less than half, before and after others', [4000, 7500, 3999], 7500],
    ['ignores a report of more than the machine has', [9000], whole],
    ['ignores zero, negative and NaN amounts', [0, -1, Number.NaN], whole],
    ['ignores nodes of a type that EC2 does not list', [7500], 0],
  ])('memory %s', (_what, reported, expected) => {
    const all = new KnownCapacity();
    const machine = expected === 0 ? 0 : whole;
    // The estimate of the claim counts for nothing: nodes may have more.
    for (const memory of reported) all.learn(seen({ memory }, { memory: 7577 }), machine);

    expect(all.least({ ...own, nodeClassHash: 'other' }, 'memory', machine)).toBe(expected);
    expect(all.least({ ...own, imageId: 'ami-2' }, 'memory', machine)).toBe(machine);
  });
});

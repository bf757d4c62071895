import { expect, test } from '@jest/globals';
import { KnownMemory } from './known-memory.js';

const mebi = 2 ** 20;
const machines = {
  get: () => Promise.resolve({ infos: [{ InstanceType: 'm5.large' as const, MemoryInfo: { SizeInMiB: 8192 } }] }),
};

// Rule `instance-types/known-memory`.
test.each<[string, readonly number[], number | undefined]>([
  ['the least of what nodes have', [7600, 7500, 7550], 7500],
  ['nothing from a kubelet that says one byte', [1 / mebi], undefined],
  ['nothing from one that says less than half, before and after the others', [4000, 7500, 3999], 7500],
  ['nothing from one that says more than the machine has', [9000], undefined],
  ['nothing from one that says what is no amount', [0, -1, Number.NaN], undefined],
])('learns %s', async (_what, reported, expected) => {
  const known = new KnownMemory(machines);
  for (const mebibytes of reported) await known.learn('m5.large', 'ami-1', mebibytes * mebi);

  expect(known.get('m5.large', 'ami-1')).toBe(expected === undefined ? undefined : expected * mebi);
  expect(known.get('m5.large', 'ami-2')).toBeUndefined();
});

test('learns no memory for a type that EC2 does not list', async () => {
  const known = new KnownMemory(machines);
  await known.learn('m5.huge', 'ami-1', 7500 * mebi);
  expect([known.get('m5.huge', 'ami-1'), known.version]).toEqual([undefined, 0]);
});

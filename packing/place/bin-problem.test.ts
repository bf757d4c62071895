import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { hasBit } from '../bins/bits.js';
import { instanceType, packingInput, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { limitUse, numberProblem } from './bin-problem.js';
import { offerTable } from './offer-table.js';
import type { Part } from './part.js';

const { zone, capacityType } = labels;
const types = [
  instanceType('m2', { cpu: 2, price: 0.2, spot: 0, zones: ['zone-a'] }),
  instanceType('m4', { cpu: 4, price: 0.4, spot: 0, zones: ['zone-a', 'zone-b'] }),
];
const nothing = { caps: [], conflicts: [] };

/** Three pods of any zone and two of zone-b, as parts. */
function worldOf(limits: Record<string, string> = {}) {
  const anywhere = podsOf(3, 'any');
  const inB = podsOf(2, 'b', { cpu: '2', nodeSelector: { [zone]: 'zone-b' } });
  const nodePools = [pool('default', { limits }), pool('other', { weight: 1 })];
  const placing = placingOf(packingInput({ pods: [...anywhere, ...inB], nodePools }, { types }));
  const { compiled, feasibility, targetOf } = placing;
  const parts = [anywhere, inB].map((pods): Part => {
    const { podClass, level } = targetOf(pods[0]!);
    return {
      members: [{ podClass, level, pods }],
      together: false,
      profiles: feasibility.holding(podClass, level).filter(({ pool: { name } }) => name === 'default'),
      pinnedKeys: [],
      demand: feasibility.demand(podClass),
      count: pods.length,
    };
  });
  return { compiled, parts };
}

const rowText = ({ compiled }: ReturnType<typeof worldOf>, row: number): string => {
  const { type, zone: of } = compiled.universe.rows[row]!;
  return `${type.name} ${of}`;
};

describe('the bin problem made from a plan', () => {
  test('has an offer for each row worth buying, and an item for each part', () => {
    const world = worldOf();
    const { problem, rowOfOffer, perNode } = numberProblem(world.compiled, world.parts, nothing, []);
    const names = rowOfOffer.map((row) => rowText(world, row));
    expect(names).toEqual(['m2 zone-a', 'm4 zone-a', 'm4 zone-b']);
    expect([...problem.offers.price]).toEqual([0.2 + perNode, 0.4 + perNode, 0.4 + perNode]);
    expect([...problem.items.pods]).toEqual([3, 2]);
    const dims = problem.dimensions;
    expect([0, 1].map((item) => problem.items.demand[item * dims]! / 1000)).toEqual([1, 2]);
    expect([0, 1, 2].map((offer) => problem.offers.capacity[offer * dims]! / 1000)).toEqual([2, 4, 4]);
    const allowed = problem.items.allowed.map((bits) => names.filter((_, offer) => hasBit(bits, offer)));
    expect(allowed).toEqual([names, ['m4 zone-b']]);
    expect(problem).toMatchObject({ caps: [], conflicts: [], limits: [] });
  });

  test('has its offers in the order of profiles, whatever the order of parts', () => {
    const world = worldOf();
    const [anywhere, inB] = world.parts;
    const inA = { ...anywhere!, profiles: anywhere!.profiles.filter((profile) => !inB!.profiles.includes(profile)) };
    const { problem, rowOfOffer } = numberProblem(world.compiled, [inB!, inA], nothing, []);
    expect(rowOfOffer.map((row) => rowText(world, row))).toEqual(['m2 zone-a', 'm4 zone-a', 'm4 zone-b']);
    const { allowed } = problem.items;
    expect(allowed.map((bits) => [0, 1, 2, 3].filter((offer) => hasBit(bits, offer)))).toEqual([[2], [0, 1]]);
    expect(allowed.map((bits) => bits.length)).toEqual([1, 1]);
  });

  test('leaves out offers above the given price', () => {
    const world = worldOf();
    const allowed = (dearest: number) =>
      numberProblem(world.compiled, world.parts, nothing, [], { dearest }).problem.items.allowed.map((bits) =>
        [0, 1, 2].filter((offer) => hasBit(bits, offer)),
      );
    expect(allowed(0.3)).toEqual([[0], []]);
    expect(allowed(0.5)).toEqual([[0, 1, 2], [2]]);
    const { price } = numberProblem(world.compiled, world.parts, nothing, []).problem.offers;
    expect(allowed(price[1]!)).toEqual([[0, 1, 2], [2]]);
  });

  test('parts with the same profiles share their allowed offers', () => {
    const { compiled, parts } = worldOf();
    const { allowed } = numberProblem(compiled, [parts[0]!, parts[0]!], nothing, []).problem.items;
    expect(allowed[0]).toBe(allowed[1]);
  });

  test('has limits by what a node of each offer uses of them', () => {
    const { compiled, parts } = worldOf({ cpu: '5', nodes: '2' });
    const { limits } = numberProblem(compiled, parts, nothing, compiled.limits).problem;
    expect(limits.map(({ use, remaining }) => [[...use], remaining])).toEqual([
      [[2000, 4000, 4000], 5000],
      [[1, 1, 1], 2],
    ]);
    const elsewhere = compiled.universe.rows.findIndex(({ profile }) => profile.pool.name === 'other');
    expect(limitUse(compiled, elsewhere, compiled.limits[0]!)).toBe(0);
  });
});

describe('pods that ride in NodePools of less weight', () => {
  /** A pod that opens nodes in `heavy` and may be in either, and one that may be in `light` alone. */
  function ridingIn(light: Parameters<typeof pool>[1], isThere = true) {
    const flexible = podsOf(1, 'flexible');
    const own = podsOf(1, 'own', { nodeSelector: { [labels.nodePool]: 'light' } });
    const nodePools = [pool('light', light), pool('heavy', { weight: 1 })];
    const placing = placingOf(packingInput({ pods: [...flexible, ...own], nodePools }, { types: types.slice(0, 1) }));
    const { compiled, assigner, targetOf } = placing;
    const parts: Part[] = [];
    for (const pods of isThere ? [flexible, own] : [flexible]) assigner.place(targetOf(pods[0]!), pods, parts);
    const { problem, rowOfOffer } = numberProblem(compiled, parts, nothing, [], { riding: true });
    const names = rowOfOffer.map((row) => compiled.universe.rows[row]!.profile.pool.name);
    const poolsOf = (lists: readonly Uint32Array[] | undefined) =>
      lists?.map((bits) => names.filter((_, offer) => hasBit(bits, offer)).sort());
    return { allowed: poolsOf(problem.items.allowed), riding: poolsOf(problem.items.riding) };
  }

  test('are allowed in those where other pods open nodes', () => {
    expect(ridingIn({})).toEqual({ allowed: [['heavy'], ['light']], riding: [['heavy', 'light'], ['light']] });
    expect(ridingIn({}, false)).toEqual({ allowed: [['heavy']], riding: undefined });
  });

  test('are not allowed in those with minValues', () => {
    const requirements = [{ key: labels.instanceType, operator: 'Exists' as const, minValues: 1 }];
    expect(ridingIn({ requirements }).riding).toBeUndefined();
  });

  test('are allowed only where asked for', () => {
    const { compiled, parts } = worldOf();
    const riding = { ...parts[0]!, riding: compiled.universe.profiles };
    expect(numberProblem(compiled, [riding, parts[1]!], nothing, []).problem.items.riding).toBeUndefined();
  });
});

describe('the table of offers', () => {
  const manyOf = () => {
    const pods = podsOf(1, 'p', { nodeSelector: { [zone]: 'zone-a', [capacityType]: 'spot' } });
    return placingOf(packingInput({ pods }, { types: [instanceType('m4', { cpu: 4 })] })).compiled;
  };

  test('has the range of each profile', () => {
    const { compiled, parts } = worldOf();
    const { range, rowOfOffer } = offerTable(compiled, parts[0]!.profiles);
    const ranges = parts[0]!.profiles.map((profile) => range.get(profile)!);
    expect(ranges[0]).toMatchObject({ from: 0 });
    expect(ranges.at(-1)!.to).toBe(rowOfOffer.length);
    for (const [k, profile] of parts[0]!.profiles.entries()) {
      const { from, to } = ranges[k]!;
      expect(rowOfOffer.slice(from, to)).toEqual(compiled.offers.of(profile).rows);
    }
  });

  test('adds a billionth of the lowest price to each node', () => {
    const { compiled, parts } = worldOf();
    expect(offerTable(compiled, parts[0]!.profiles).perNode).toBeCloseTo(0.2e-9, 15);
    expect(offerTable(compiled, []).perNode).toBe(1e-9);
  });

  test('does not count 0 as the lowest price', () => {
    const free = [
      instanceType('free', { cpu: 2, price: 0, spot: 0, zones: ['zone-a'] }),
      instanceType('m4', { cpu: 4, price: 0.4, spot: 0, zones: ['zone-a'] }),
    ];
    const { compiled } = placingOf(packingInput({ pods: podsOf(1, 'p') }, { types: free }));
    expect(offerTable(compiled, compiled.universe.profiles).perNode).toBeCloseTo(0.4e-9, 15);
  });

  test('is shared by equal profiles, for the sixteen latest ones', () => {
    const compiled = manyOf();
    const { profiles } = compiled.universe;
    expect(profiles.length).toBeGreaterThanOrEqual(4);
    // Every set of four profiles that is not empty, and one of two more in another order.
    const lists = Array.from({ length: 15 }, (_, k) => profiles.slice(0, 4).filter((__, i) => ((k + 1) >> i) & 1));
    const tables = lists.map((list) => offerTable(compiled, list));
    expect(new Set(tables).size).toBe(15);
    offerTable(compiled, []);
    expect(offerTable(compiled, lists[0]!)).toBe(tables[0]);
    offerTable(compiled, [profiles[1]!, profiles[0]!]);
    expect(lists.slice(1).map((list) => offerTable(compiled, list))).toEqual(tables.slice(1));
    expect(offerTable(compiled, lists[1]!)).toBe(tables[1]);
    expect(offerTable(compiled, lists[0]!)).not.toBe(tables[0]);
  });
});

import { describe, expect, jest, test } from '@jest/globals';
import { letters, recordedAttempts } from '../../test/builders/attempts.js';
import type { Launch } from '../../packing/trial.js';
import type { FleetNode } from './fleet.js';
import { improve } from './improve.js';
import type { Simulation } from './simulation.js';

interface Given {
  readonly price: number;
  /** What new capacity for its pods would cost. */
  readonly load: number;
  readonly planned?: boolean;
  readonly more?: Partial<FleetNode>;
}

interface Options {
  /** At what prices nodes are found for a group. */
  readonly offer?: (group: string) => readonly number[] | undefined;
  readonly pays?: (group: string) => boolean;
  readonly rate?: number;
  /** What a node counts more than it costs. */
  readonly surcharge?: number;
}

function run(
  nodes: Readonly<Record<string, Given>>,
  { offer = () => undefined, pays = () => true, rate = 0, surcharge = 0 }: Options = {},
) {
  const fleet = Object.entries(nodes).map(
    ([name, { price, load, more }]) =>
      ({
        name,
        price,
        loads: load,
        gone: false,
        open: true,
        removable: true,
        onlyEmpty: false,
        cost: 2,
        ...more,
      }) as unknown as FleetNode,
  );
  const launches = new Map(
    fleet.filter(({ name }) => nodes[name]!.planned === true).map((node) => [node, {} as Launch]),
  );
  const { tried, purchases, attempts } = recordedAttempts(offer);
  const targets: string[] = [];
  const undo = jest.fn();
  const asked: string[] = [];
  const simulation = {
    nodes: fleet,
    surcharge,
    worth: { of: (load: unknown) => load },
    trial: { loadOf: (loads: unknown) => loads },
    disruptionOf: (some: readonly FleetNode[]) => rate * some.length,
    setTargets: (some: readonly FleetNode[]) => targets.push(letters(some)),
    undo,
    attempts,
  } as unknown as Simulation;
  const settled: string[] = [];
  improve(simulation, launches, {
    settle: ({ candidates }) => {
      settled.push(letters(candidates));
      for (const node of candidates) node.gone = true;
    },
    pays: ({ candidates }) => {
      asked.push(letters(candidates));
      return pays(letters(candidates));
    },
  });
  // Sizes beyond the number of nodes try all of them again.
  return {
    tried: [...new Set(tried)],
    all: tried,
    purchases,
    targets,
    settled,
    asked: [...new Set(asked)],
    undone: undo.mock.calls.length > 0,
  };
}

const [wasteful, tight] = [
  { price: 2, load: 1 },
  { price: 2, load: 2 },
];

describe('improving a fleet plan: groups of nodes are tried', () => {
  test('single nodes first, then larger groups, the most wasteful first, then by name', () => {
    const { tried } = run({ a: { price: 2, load: 1.5 }, c: wasteful, b: wasteful });
    expect(tried).toEqual(['b', 'c', 'a', 'bc', 'ca', 'bca']);
  });

  test('that overlap, and none below the group size', () => {
    const nodes = Object.fromEntries('abcdef'.split('').map((name) => [name, wasteful]));
    expect(run(nodes).tried.filter(({ length }) => length === 5)).toEqual(['abcde']);
    expect(run(nodes).tried.filter(({ length }) => length === 3)).toEqual(['abc', 'bcd', 'cde', 'def']);
    expect(run(nodes).all.filter(({ length }) => length === 6)).toEqual(['abcdef', 'abcdef']);
  });

  test('that waste enough of the price of what may change', () => {
    expect(run({ a: tight, b: tight }).tried).toEqual([]);
    expect(run({ a: wasteful, b: tight }).tried).toEqual(['a', 'ab']);
    const large = { price: 300, load: 300 };
    expect(run({ a: wasteful, b: large }).tried).toEqual([]);
    expect(run({ a: wasteful, b: { ...large, more: { removable: false } } }).tried).toEqual(['a']);
    expect(run({ a: wasteful, b: { ...large, more: { gone: true } } }).tried).toEqual(['a']);
  });

  test('of nodes that are removable, take pods and cost something', () => {
    const nodes = {
      a: wasteful,
      b: { ...wasteful, more: { removable: false } },
      c: { ...wasteful, more: { onlyEmpty: true } },
      d: { ...wasteful, more: { open: false } },
      e: { ...wasteful, more: { gone: true } },
      f: { price: 0, load: -1 },
    };
    const { tried, targets } = run(nodes);
    expect(tried).toEqual(['a']);
    expect(targets[0]).toBe('abcf');
  });

  test('up to a fixed number', () => {
    const nodes = Object.fromEntries(
      Array.from({ length: 240 }, (_, i) => [String.fromCodePoint(0x4e00 + i), { price: 2, load: 0 }]),
    );
    const looked = run(nodes).all.reduce((sum, { length }) => sum + length, 0);
    expect(looked).toBeGreaterThanOrEqual(1500);
    expect(looked).toBeLessThan(1520);
  });
});

describe('improving a fleet plan: a group is replaced', () => {
  test('by something cheaper by a hundredth of its price, or by what moving its pods is worth', () => {
    const one = (price: number, options: Options = {}) =>
      run({ a: wasteful }, { ...options, offer: () => [price] }).settled;
    expect(one(1.97)).toEqual(['a']);
    expect(one(1.98)).toEqual([]);
    expect(one(1.6, { rate: 0.5 })).toEqual([]);
    expect(one(1.4, { rate: 0.5 })).toEqual(['a']);
    const planned = (price: number) =>
      run({ a: { ...wasteful, planned: true } }, { rate: 0.5, offer: () => [price] }).settled;
    expect(planned(1.999)).toEqual(['a']);
    expect(planned(2)).toEqual([]);
  });

  test('by several nodes that cost less together', () => {
    expect(run({ a: wasteful }, { offer: () => [1, 0.9] }).settled).toEqual(['a']);
    expect(run({ a: wasteful }, { offer: () => [1, 1] })).toMatchObject({ settled: [], undone: true });
  });

  test('by more nodes only where the saving exceeds their surcharge', () => {
    const two = (price: number) =>
      run({ a: wasteful }, { offer: () => [price / 2, price / 2], surcharge: 0.3 }).settled;
    expect(two(1.69)).toEqual([]);
    expect(two(1.67)).toEqual(['a']);
    // Fewer nodes may not be dearer.
    const one = (price: number) =>
      run({ a: wasteful, b: wasteful }, { offer: (group) => (group === 'ab' ? [price] : undefined), surcharge: 0.3 })
        .settled;
    expect(one(4.1)).toEqual([]);
    expect(one(3.9)).toEqual(['ab']);
  });

  test('only if it pays and all of the group still exists', () => {
    const no = { offer: () => [0.5], pays: () => false };
    expect(run({ a: wasteful }, no)).toMatchObject({ settled: [], asked: ['a'], undone: true });
    expect(run({ a: { ...wasteful, planned: true } }, no)).toMatchObject({ settled: ['a'], asked: [] });
    const both = run(
      { a: wasteful, b: { ...wasteful, planned: true } },
      { ...no, offer: (group) => (group === 'ab' ? [0.5] : undefined) },
    );
    expect(both).toMatchObject({ settled: ['ab'], asked: [] });
  });

  test('with the limits given to the search', () => {
    const nodes = Object.fromEntries('abcde'.split('').map((name) => [name, { ...wasteful, planned: name !== 'e' }]));
    const { all, purchases } = run(nodes);
    const of = (group: string) => purchases[all.indexOf(group)]!;
    expect(of('a')).toEqual({ search: { units: 0, most: 2, surcharge: 0 }, most: 2, onlyForRest: true });
    expect(of('e')).toEqual({ search: { units: 0, most: 1.98, surcharge: 0 }, most: 1.98, onlyForRest: false });
    expect(of('cde')).toMatchObject({ search: { units: 0 }, most: 5.98, onlyForRest: false });
    expect(of('abcde')).toMatchObject({ search: { units: 750, most: 9.98 }, onlyForRest: false });
    const planned = Object.fromEntries('abcdefgh'.split('').map((name) => [name, { ...wasteful, planned: true }]));
    const every = run(planned);
    expect(every.purchases[every.all.indexOf('abcde')]!.onlyForRest).toBe(true);
    expect(every.purchases[every.all.indexOf('abcdefgh')]!.onlyForRest).toBe(false);
  });

  test('once, and then the other groups are tried again', () => {
    let open = true;
    const offer = (group: string) => {
      if (group !== 'a' || !open) return undefined;
      open = false;
      return [0.5];
    };
    const { all, targets, settled } = run({ a: wasteful, b: wasteful }, { offer });
    expect(settled).toEqual(['a']);
    expect(all).toEqual(['a', ...Array.from({ length: 12 }, () => 'b')]);
    expect(targets.slice(0, 3)).toEqual(['ab', 'b', 'b']);
  });
});

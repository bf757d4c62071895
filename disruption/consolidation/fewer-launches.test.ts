import { describe, expect, test, vi } from 'vitest';
import { letters, recordedAttempts } from '../../test/builders/attempts.js';
import { nearlyCheapest, type Launch } from '../../packing/trial.js';
import { launchFewer } from './fewer-launches.js';
import type { FleetNode } from './fleet.js';
import type { Simulation } from './simulation.js';

const nodeOf = (name: string, price: number, more: Partial<FleetNode> = {}): FleetNode =>
  ({ name, price, gone: false, open: true, removable: true, onlyEmpty: false, ...more }) as FleetNode;

/** Launches of these prices in a fleet with `others`; `offer` tells at what prices nodes are found for a group. */
function run(
  prices: Readonly<Record<string, number>>,
  offer: (group: string) => readonly number[] | undefined = () => undefined,
  others: readonly FleetNode[] = [],
) {
  const launches = Object.entries(prices).map(([name, price]) => nodeOf(name, price));
  const { tried, purchases, attempts } = recordedAttempts(offer);
  const targets: string[] = [];
  const undo = vi.fn();
  const simulation = {
    nodes: [...launches, ...others],
    setTargets: (nodes: readonly FleetNode[]) => targets.push(letters(nodes)),
    attempts,
    undo,
  } as unknown as Simulation;
  const settled: string[] = [];
  launchFewer(simulation, new Map(launches.map((node) => [node, {} as Launch])), ({ candidates, launches: bought }) => {
    settled.push(`${letters(candidates)} ${bought.map(({ price }) => price).join()}`);
    for (const node of candidates) node.gone = true;
  });
  return { tried, purchases, targets, settled, undone: undo.mock.calls.length };
}

describe('fewer launches (consolidation/fewest-nodes)', () => {
  test('are looked for in all of them, then in smaller groups, by price and by name', () => {
    expect(run({ c: 1, b: 3, a: 1, d: 2, e: 4 }).tried).toEqual(['acdbe', 'acdb', 'ac', 'db']);
    expect(run({ a: 1, b: 1 }).tried).toEqual(['ab']);
    expect(run({ a: 1 }).tried).toEqual([]);
    const many = Object.fromEntries('abcdefghijklmnopqr'.split('').map((name) => [name, 1]));
    expect(run(many).tried.map(({ length }) => length)).toEqual([
      18,
      16,
      2,
      8,
      8,
      2,
      4,
      4,
      4,
      4,
      2,
      ...Array.from({ length: 9 }, () => 2),
    ]);
  });

  test('may cost a little more: a share of what may change', () => {
    const fixed = [
      nodeOf('x', 50, { removable: false }),
      nodeOf('y', 50, { onlyEmpty: true }),
      nodeOf('z', 50, { gone: true }),
    ];
    const spare = (2 + 3 + 95) * (nearlyCheapest - 1);
    const { purchases } = run({ a: 2, b: 3 }, undefined, [...fixed, nodeOf('w', 95)]);
    expect(purchases).toEqual([
      {
        search: { units: 300, most: expect.closeTo(5 + spare, 9), fewest: nearlyCheapest },
        most: expect.closeTo(5 + spare + 1e-9, 12),
      },
    ]);
    expect(purchases[0]!.most).toBeGreaterThan((purchases[0]!.search as { most: number }).most);
    const offer = (price: number) => run({ a: 2, b: 3 }, () => [price], [nodeOf('w', 95)]);
    expect(offer(5).settled).toEqual(['ab 5']);
    expect(offer(5 + spare).settled).toHaveLength(1);
    expect(offer(5 + spare * 1.01)).toMatchObject({ settled: [], undone: 1 });
    expect(offer(4).settled).toEqual(['ab 4']);
  });

  test('are fewer', () => {
    expect(run({ a: 2, b: 3 }, () => [1, 1])).toMatchObject({ settled: [], undone: 1 });
    expect(run({ a: 2, b: 3 }, () => [1])).toMatchObject({ settled: ['ab 1'], undone: 0 });
    expect(run({ a: 2, b: 3 })).toMatchObject({ settled: [], undone: 0 });
  });

  test('use up together what they may cost more', () => {
    const spare = (4 + 96) * (nearlyCheapest - 1);
    const pairs = (extra: number) =>
      run({ a: 1, b: 1, c: 1, d: 1 }, (group) => (group.length === 2 ? [2 + extra] : undefined), [
        nodeOf('w', 96),
      ]).settled.map((text) => text.slice(0, 2));
    expect(pairs(spare * 0.4)).toEqual(['ab', 'cd']);
    expect(pairs(spare * 0.6)).toEqual(['ab']);
  });

  test('go where pods may be moved, and replace what is still there', () => {
    const others = [nodeOf('x', 1, { open: false }), nodeOf('y', 1, { gone: true }), nodeOf('z', 1)];
    const { targets, tried } = run({ a: 1, b: 1, c: 1 }, (group) => (group === 'ab' ? [1] : undefined), others);
    expect(tried).toEqual(['abc', 'ab']);
    expect(targets).toEqual(['abcz', 'abcz']);
    const after = run({ a: 1, b: 1, c: 1, d: 1, e: 1 }, (group) => (group === 'abcd' ? [1] : undefined));
    expect(after.tried).toEqual(['abcde', 'abcd']);
  });
});

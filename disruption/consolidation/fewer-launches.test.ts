import { describe, expect, jest, test } from '@jest/globals';
import { letters, recordedAttempts } from '../../test/builders/attempts.js';
import type { Launch } from '../../packing/trial.js';
import { launchFewer } from './fewer-launches.js';
import type { FleetNode } from './fleet.js';
import type { Simulation } from './simulation.js';

const nodeOf = (name: string, price: number, more: Partial<FleetNode> = {}): FleetNode =>
  ({ name, price, gone: false, open: true, removable: true, onlyEmpty: false, ...more }) as FleetNode;

/** What a node counts more than it costs. */
const surcharge = 0.5;

/** Launches of these prices in a fleet with `others`; `offer` tells at what prices nodes are found for a group. */
function run(
  prices: Readonly<Record<string, number>>,
  offer: (group: string) => readonly number[] | undefined = () => undefined,
  others: readonly FleetNode[] = [],
) {
  const launches = Object.entries(prices).map(([name, price]) => nodeOf(name, price));
  const { tried, purchases, attempts } = recordedAttempts(offer);
  const targets: string[] = [];
  const undo = jest.fn();
  const simulation = {
    surcharge,
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

describe('fewer launches in a fleet plan (consolidation/fewest-nodes)', () => {
  test('are tried for all launches, then for smaller groups by price and name', () => {
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

  test('may cost more by the surcharge of the nodes that they save', () => {
    const { purchases } = run({ a: 2, b: 3, c: 1 });
    expect(purchases[0]).toEqual({
      search: { units: 450, most: 6 + 3 * surcharge, surcharge },
      most: expect.closeTo(6 + 2 * surcharge + 1e-9, 12),
    });
    const one = (price: number) => run({ a: 2, b: 3 }, () => [price]);
    expect(one(4).settled).toEqual(['ab 4']);
    expect(one(5 + surcharge).settled).toHaveLength(1);
    expect(one(5 + surcharge * 1.01)).toMatchObject({ settled: [], undone: 1 });
    const ofThree = (prices: readonly number[]) =>
      run({ a: 2, b: 2, c: 2 }, (group) => (group === 'abc' ? prices : undefined)).settled;
    expect(ofThree([6 + 1.9 * surcharge])).toHaveLength(1);
    expect(ofThree([3, 3 + 1.9 * surcharge])).toEqual([]);
  });

  test('have to be fewer', () => {
    expect(run({ a: 2, b: 3 }, () => [1, 1])).toMatchObject({ settled: [], undone: 1 });
    expect(run({ a: 2, b: 3 }, () => [1])).toMatchObject({ settled: ['ab 1'], undone: 0 });
    expect(run({ a: 2, b: 3 })).toMatchObject({ settled: [], undone: 0 });
  });

  test('use nodes that take pods, and replace only launches that still exist', () => {
    const others = [nodeOf('x', 1, { open: false }), nodeOf('y', 1, { gone: true }), nodeOf('z', 1)];
    const { targets, tried } = run({ a: 1, b: 1, c: 1 }, (group) => (group === 'ab' ? [1] : undefined), others);
    expect(tried).toEqual(['abc', 'ab']);
    expect(targets).toEqual(['abcz', 'abcz']);
    const after = run({ a: 1, b: 1, c: 1, d: 1, e: 1 }, (group) => (group === 'abcd' ? [1] : undefined));
    expect(after.tried).toEqual(['abcde', 'abcd']);
  });
});

import { describe, expect, test } from '@jest/globals';
import type { FleetNode } from './fleet.js';
import type { Simulation } from './simulation.js';
import { chooseTarget, isFixed } from './target.js';

interface Given {
  readonly price: number;
  /** What its pods and its room would cost as new capacity. */
  readonly load?: number;
  readonly free?: number;
  readonly cost?: number;
  readonly more?: Partial<FleetNode>;
}

/** A fleet with given worths; moving a unit of disruption cost is worth `rate`. */
function target(nodes: Readonly<Record<string, Given>>, rate = 0) {
  const fleet = Object.entries(nodes).map(
    ([name, { price, load = 0, free = 0, cost = 1, more }]) =>
      ({
        name,
        price,
        cost,
        gone: false,
        removable: true,
        onlyEmpty: false,
        open: true,
        loads: load,
        waiting: new Map(),
        state: { free },
        ...more,
      }) as unknown as FleetNode,
  );
  const simulation = {
    nodes: fleet,
    worth: { of: (worth: unknown) => worth },
    trial: { loadOf: (loads: unknown) => loads },
    disruptionOf: (some: readonly FleetNode[]) => some.reduce((sum, { cost }) => sum + rate * (cost - 1), 0),
  } as unknown as Simulation;
  const { keep, remove } = chooseTarget(simulation);
  return [keep, remove].map((some) => some.map(({ name }) => name).join());
}

describe('the nodes that are kept', () => {
  test('are the cheapest for what they hold, until all pods have room', () => {
    expect(
      target({
        a: { price: 4, load: 2, free: 3 },
        b: { price: 3, load: 2, free: 3 },
        c: { price: 2, load: 1, free: 5 },
      }),
    ).toEqual(['c', 'a,b']);
    expect(target({ a: { price: 4, load: 5 }, b: { price: 3, load: 5 } })).toEqual(['b,a', '']);
  });

  test('are among equals those whose removal disturbs more, then the first by name', () => {
    const equal = { price: 1, load: 1, free: 1.2 };
    expect(target({ b: equal, a: equal })).toEqual(['a', 'b']);
    expect(target({ b: { ...equal, cost: 2 }, a: equal })).toEqual(['b', 'a']);
    const waiting = new Map([[{}, []]]) as unknown as FleetNode['waiting'];
    expect(target({ b: { ...equal, more: { waiting } }, a: equal })).toEqual(['b', 'a']);
  });

  test('are none that cost more than new capacity', () => {
    const nodes = { a: { price: 3, load: 2 }, b: { price: 1.99, load: 2 } };
    expect(target(nodes)).toEqual(['b', 'a']);
    expect(target({ ...nodes, b: { price: 2, load: 2 } })).toEqual(['', 'a,b']);
  });

  test('have room of which nine tenths are of use', () => {
    const b = { price: 1.1, load: 2, free: 2 };
    expect(target({ a: { price: 1, load: 2, free: 2.3 }, b })).toEqual(['a', 'b']);
    expect(target({ a: { price: 1, load: 2, free: 2.2 }, b })).toEqual(['a,b', '']);
  });

  test('are cheaper by what it would cost to move their pods', () => {
    const nodes = { a: { price: 2, load: 2, free: 3, cost: 9 }, b: { price: 1.5, load: 2, free: 3 } };
    expect(target(nodes)).toEqual(['b', 'a']);
    expect(target(nodes, 0.1)).toEqual(['a', 'b']);
  });

  test('are not those that hold nothing and have no room', () => {
    expect(target({ a: { price: 1 }, b: { price: 8, load: 9 } })).toEqual(['b', 'a']);
  });
});

describe('nodes that have to stay', () => {
  const fixed = (more: Partial<FleetNode>): Given => ({ price: 9, load: 1, free: 2.3, more });

  test.each([
    ['may not be removed', { removable: false }],
    ['may go only while empty', { onlyEmpty: true }],
  ])('%s: their room counts', (_, more) => {
    expect(target({ s: fixed(more), a: { price: 1, load: 2, free: 1 } })).toEqual(['s', 'a']);
    expect(target({ s: fixed(more), a: { price: 1, load: 3, free: 1 } })).toEqual(['s,a', '']);
  });

  test('but take no pods have no room', () => {
    expect(target({ s: fixed({ removable: false, open: false }), a: { price: 1, load: 2, free: 1 } })).toEqual([
      'a',
      '',
    ]);
  });

  test('that are gone count for nothing', () => {
    expect(
      target({ s: fixed({ removable: false, gone: true }), a: { price: 1, load: 2, more: { gone: true } } }),
    ).toEqual(['', '']);
  });

  test('are those that may not be removed, or only when empty', () => {
    const fixed = (more: Partial<FleetNode>) => isFixed({ removable: true, onlyEmpty: false, ...more } as FleetNode);
    expect([fixed({}), fixed({ removable: false }), fixed({ onlyEmpty: true })]).toEqual([false, true, true]);
  });
});

describe('the nodes that are removed', () => {
  test('are in order of what they save for their disruption', () => {
    const nodes = {
      kept: { price: 0.1, load: 0, free: 99 },
      a: { price: 5, load: 4, free: 0 },
      b: { price: 9, load: 1, cost: 8 },
      c: { price: 8, load: 2, cost: 2 },
      d: { price: 5, load: 4, free: 0 },
    };
    expect(target(nodes)).toEqual(['kept', 'c,a,b,d']);
  });
});

import { describe, expect, test } from '@jest/globals';
import { letters } from '../../test/builders/attempts.js';
import { surchargeOf, type Filling, type Launch } from '../../packing/trial.js';
import type { FleetNode } from './fleet.js';
import type { Outcome, Purchase } from './outcome.js';
import { isLarge, planFleet } from './plan-fleet.js';
import type { Simulation } from './simulation.js';
import type { FleetTarget } from './target.js';

interface Given {
  readonly price: number;
  /** What its pods and its room would cost as new capacity. */
  readonly load?: number;
  readonly free?: number;
  readonly cost?: number;
  readonly more?: Partial<FleetNode>;
}

interface Tried {
  readonly keep: string;
  readonly remove: string;
  readonly filling: Filling | undefined;
  readonly purchase: Purchase;
}

interface Options {
  /** What is launched where nodes are removed; undefined where some pods find no place. */
  readonly offer?: (tried: Tried) => readonly number[] | undefined;
  readonly given?: readonly [keep: string, remove: string];
  /** Further nodes whose pods the others have room for. */
  readonly extends?: string;
  /** What disturbing a unit of disruption cost is worth. */
  readonly rate?: number;
}

/** Plans a fleet with given worths. */
function run(nodes: Readonly<Record<string, Given>>, options: Options = {}) {
  const { offer = () => [], given, extends: more = '', rate = 0 } = options;
  const fleet = Object.entries(nodes).map(
    ([name, { price, load = 0, free = 0, cost = 1, more: rest }]) =>
      ({
        name,
        price,
        cost,
        loads: load,
        state: { free },
        gone: false,
        removable: true,
        open: true,
        onlyEmpty: false,
        ...rest,
      }) as unknown as FleetNode,
  );
  const tried: Tried[] = [];
  const looked: string[] = [];
  let targets: readonly FleetNode[] = [];
  let filled: Filling | undefined;
  /** How many outcomes are applied and not undone. */
  let applied = 0;
  const simulation = {
    nodes: fleet,
    worth: { of: (worth: unknown) => worth, leastNodes: 0 },
    trial: { loadOf: (loads: unknown) => loads, demandOf: (podClass: unknown) => podClass },
    disruptionOf: (some: readonly FleetNode[]) => some.reduce((sum, { cost }) => sum + rate * (cost - 1), 0),
    setTargets: (some: readonly FleetNode[], filling?: Filling) => {
      targets = some;
      filled = filling;
    },
    undo: () => (applied -= 1),
    redo: () => (applied += 1),
    attempts: {
      byPlacing: (remove: readonly FleetNode[], purchase: Purchase): Outcome | undefined => {
        expect(applied).toBe(0);
        const attempt = { keep: letters(targets), remove: letters(remove), filling: filled, purchase };
        tried.push(attempt);
        const found = offer(attempt);
        if (found === undefined) return undefined;
        applied += 1;
        return { candidates: remove, placements: [], launches: found.map((price) => ({ price }) as Launch) };
      },
      extend: ({ name }: FleetNode) => {
        looked.push(name);
        return more.includes(name);
      },
      extended: (outcome: Outcome, others: readonly FleetNode[]): Outcome => ({
        ...outcome,
        candidates: [...outcome.candidates, ...others],
      }),
    },
  } as unknown as Simulation;
  const some = (names: string): FleetNode[] => fleet.filter(({ name }) => names.includes(name));
  const target: FleetTarget | undefined = given && { keep: some(given[0]), remove: some(given[1]) };
  const outcome = planFleet(simulation, target);
  expect(applied).toBe(outcome === undefined ? 0 : 1);
  return {
    plan: outcome && `${letters(outcome.candidates)} for ${outcome.launches.map(({ price }) => price).join('+')}`,
    tried,
    looked,
  };
}

describe('the fleet that is planned', () => {
  test('is the given one, with what its nodes may cost', () => {
    const { plan, tried } = run(
      { k: { price: 1 }, a: { price: 2 }, b: { price: 3 } },
      { given: ['k', 'ab'], offer: () => [4] },
    );
    expect(plan).toBe('ab for 4');
    expect(tried[0]).toMatchObject({ keep: 'k', remove: 'ab', purchase: { search: { units: 0 }, most: 5 } });
  });

  test('is none where nothing is to go, or nothing can', () => {
    const nodes = { k: { price: 1 }, a: { price: 2 } };
    const none = run(nodes, { given: ['ka', ''] });
    expect(none.plan).toBeUndefined();
    expect(run(nodes, { given: ['k', 'a'], offer: () => undefined }).plan).toBeUndefined();
  });

  test('is searched for once more at length, and that is taken where it costs less', () => {
    const nodes = { a: { price: 9 } };
    const at = (first: readonly number[], second: readonly number[] | undefined) =>
      run(nodes, {
        given: ['', 'a'],
        offer: ({ purchase }) => (JSON.stringify(purchase.search) === '{"units":0}' ? first : second),
      });
    expect(at([4], [3]).plan).toBe('a for 3');
    expect(at([4], [2, 2]).plan).toBe('a for 4');
    expect(at([2, 2], [4]).plan).toBe('a for 4');
    expect(at([4], [5]).plan).toBe('a for 4');
    expect(at([4], undefined).plan).toBe('a for 4');
    expect(at([4], [3]).tried.map(({ purchase }) => purchase.search)).toContainEqual({
      units: 10_000,
      surcharge: expect.closeTo(0.5 * surchargeOf({ price: 4, nodes: 1 }, 0), 9),
    });
  });
});

// Rule `consolidation/fewest-nodes`.
test('fewer nodes are worth half of what a node to launch counts more than it costs', () => {
  const search = (launches: readonly number[], first: readonly number[]) =>
    run(
      { k: { price: 20 }, a: { price: 90 } },
      {
        given: ['k', 'a'],
        offer: ({ purchase }) => (JSON.stringify(purchase.search) === '{"units":0}' ? first : launches),
      },
    ).plan;
  const surcharge = 0.5 * surchargeOf({ price: 30, nodes: 3 }, 0);
  expect(search([10 + surcharge * 1.05], [5, 5])).toBe('a for 5+5');
  expect(search([10 + surcharge * 0.95], [5, 5])).toBe(`a for ${10 + surcharge * 0.95}`);
});

test('a fleet of over 2000 nodes is large', () => {
  const fleet = (count: number) => ({ nodes: Array.from({ length: count }) }) as unknown as Simulation;
  expect([isLarge(fleet(2000)), isLarge(fleet(2001))]).toEqual([false, true]);
});

describe('further nodes are removed', () => {
  const nodes = {
    k: { price: 1 },
    l: { price: 3 },
    m: { price: 2, more: { removable: false } },
    n: { price: 0 },
    z: { price: 5 },
  };

  test('where the others have room for their pods, the dearest for their disruption first', () => {
    const { tried, looked, plan } = run(nodes, { given: ['klmn', 'z'], extends: 'k' });
    expect(looked.slice(0, 2)).toEqual(['l', 'k']);
    expect(new Set(looked)).toEqual(new Set(['l', 'k']));
    expect(tried.at(-1)).toMatchObject({ keep: 'lmn', remove: 'zk', filling: 'alike' });
    expect(plan).toBe('zk for ');
  });

  test('if moving their pods is worth it', () => {
    const dear = { ...nodes, k: { price: 1, cost: 11 } };
    expect(new Set(run(dear, { given: ['klmn', 'z'], rate: 0.09 }).looked)).toEqual(new Set(['l', 'k']));
    expect(new Set(run(dear, { given: ['klmn', 'z'], rate: 0.1 }).looked)).toEqual(new Set(['l']));
  });

  test('also where none was to go', () => {
    expect(run(nodes, { given: ['klmn', ''], extends: 'l' }).plan).toBe('l for ');
  });

  test('not where the others have no place as it is', () => {
    expect(run(nodes, { given: ['klmn', 'z'], extends: 'kl', offer: () => undefined }).looked).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
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

/** A launch at this price with pods of these worths, each so many. */
interface Bought {
  readonly price: number;
  readonly pods?: readonly (readonly [each: number, count: number])[];
}

interface Tried {
  readonly keep: string;
  readonly remove: string;
  readonly filling: Filling | undefined;
  readonly purchase: Purchase;
}

interface Options {
  /** What is launched where nodes are removed; undefined where some pods find no place. */
  readonly offer?: (tried: Tried) => readonly (number | Bought)[] | undefined;
  readonly pays?: (prices: string) => boolean;
  readonly given?: readonly [keep: string, remove: string];
  /** Further nodes whose pods the others have room for. */
  readonly extends?: string;
  /** What disturbing a unit of disruption cost is worth. */
  readonly rate?: number;
}

const launchOf = (bought: number | Bought): Launch => {
  const { price, pods = [] } = typeof bought === 'number' ? { price: bought } : bought;
  const members = pods.map(([each, count]) => ({ podClass: each, pods: Array.from({ length: count }) }));
  return { price, claim: { members } } as unknown as Launch;
};

/** Plans a fleet in which worth is told outright. */
function run(nodes: Readonly<Record<string, Given>>, options: Options = {}) {
  const { offer = () => [], pays = () => true, given, extends: more = '', rate = 0 } = options;
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
  const asked: string[] = [];
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
    attempts: {
      byPlacing: (remove: readonly FleetNode[], purchase: Purchase): Outcome | undefined => {
        expect(applied).toBe(0);
        const attempt = { keep: letters(targets), remove: letters(remove), filling: filled, purchase };
        tried.push(attempt);
        const found = offer(attempt);
        if (found === undefined) return undefined;
        applied += 1;
        return { candidates: remove, placements: [], launches: found.map(launchOf) };
      },
      extend: ({ name }: FleetNode) => {
        looked.push(name);
        return more.includes(name);
      },
    },
  } as unknown as Simulation;
  const some = (names: string): FleetNode[] => fleet.filter(({ name }) => names.includes(name));
  const target: FleetTarget | undefined = given && { keep: some(given[0]), remove: some(given[1]) };
  const outcome = planFleet(
    simulation,
    ({ candidates, launches }) => {
      asked.push(letters(candidates));
      return pays(launches.map(({ price }) => price).join());
    },
    target,
  );
  expect(applied).toBe(outcome === undefined ? 0 : 1);
  return {
    plan: outcome && `${letters(outcome.candidates)} for ${outcome.launches.map(({ price }) => price).join('+')}`,
    tried,
    asked,
    looked,
    ways: [...new Set(tried.map(({ keep, remove, filling }) => `${keep}|${remove} ${filling}`))],
  };
}

describe('the planned fleet', () => {
  test('is made from the given nodes with their prices', () => {
    const { plan, tried } = run(
      { k: { price: 1 }, a: { price: 2 }, b: { price: 3 } },
      { given: ['k', 'ab'], offer: () => [4] },
    );
    expect(plan).toBe('ab for 4');
    expect(tried[0]).toMatchObject({ keep: 'k', remove: 'ab', purchase: { search: { units: 0 }, most: 5 } });
  });

  test('is undefined where no node is to be removed, or can be', () => {
    const nodes = { k: { price: 1 }, a: { price: 2 } };
    const none = run(nodes, { given: ['ka', ''] });
    expect(none.plan).toBeUndefined();
    expect(run(nodes, { given: ['k', 'a'], offer: () => undefined }).plan).toBeUndefined();
  });

  test('is searched a second time at length, and the cheaper result is used', () => {
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

describe('orders in which remaining nodes are filled', () => {
  // a has the least room, then c and b.
  const nodes = {
    a: { price: 1, load: 5, free: 1 },
    b: { price: 1.1, load: 5, free: 3 },
    c: { price: 1.2, load: 5, free: 2 },
    d: { price: 90, load: 1 },
  };

  test('are by estimate or by fullness, and by different pods first', () => {
    const { ways } = run(nodes, { given: ['bac', 'd'] });
    expect(ways).toEqual(['abc|d alike', 'abc|d pickiest', 'acb|d pickiest', 'acb|d scarcest', 'abc|d scarcest']);
  });

  test('are by name among nodes with equal room', () => {
    const even = { b: { price: 1, free: 2 }, a: { price: 1, free: 2 }, d: { price: 9 } };
    expect(run(even, { given: ['ab', 'd'] }).ways[2]).toBe('ab|d pickiest');
  });

  test('begin from an optimistic estimate and from a careful one', () => {
    // Nine tenths of the room of `a` hold the pods of `b`.
    const two = { a: { price: 1, load: 2, free: 3 }, b: { price: 1.2, load: 2, free: 3 } };
    expect(new Set(run(two).ways.map((way) => way.split(' ')[0]))).toEqual(new Set(['a|b', 'ab|']));
    // What costs as much as new capacity is kept by the one that does not trust.
    const even = { a: { price: 2, load: 2 } };
    expect(new Set(run(even).ways.map((way) => way.split(' ')[0]))).toEqual(new Set(['|a', 'a|']));
    const dearer = { a: { price: 2.01, load: 2 } };
    expect(new Set(run(dearer).ways.map((way) => way.split(' ')[0]))).toEqual(new Set(['|a']));
  });

  test('are a single one in a large fleet', () => {
    const fleet = (count: number) => ({ nodes: Array.from({ length: count }) }) as unknown as Simulation;
    expect([isLarge(fleet(2000)), isLarge(fleet(2001))]).toEqual([false, true]);
    const many = Object.fromEntries(
      Array.from({ length: 2001 }, (_, i) => [`${i} `, { price: 1, more: { gone: i > 0 } }]),
    );
    expect(new Set(run(many, { given: ['', '0 '] }).tried.map(({ filling }) => filling))).toEqual(new Set(['alike']));
  });
});

// Rule `consolidation/fewest-nodes`.
describe('of several fleets the planned one', () => {
  const nodes = { a: { price: 10, load: 5, free: 1 }, b: { price: 10, load: 5, free: 3 }, d: { price: 100, load: 9 } };
  /** What each way of filling launches, in the order alike, pickiest, scarcest. */
  const choose = (ways: readonly (readonly number[] | undefined)[], more: Options = {}) => {
    const fillings: Filling[] = ['alike', 'pickiest', 'scarcest'];
    const { plan, asked } = run(nodes, {
      given: ['ab', 'd'],
      offer: ({ filling }) => ways[fillings.indexOf(filling!)],
      ...more,
    });
    return { plan, asked: asked.length };
  };

  test('costs least', () => {
    expect(choose([[9], [5], [8]]).plan).toBe('d for 5');
    expect(choose([[5], [9], undefined]).plan).toBe('d for 5');
    expect(choose([undefined, undefined, [8]]).plan).toBe('d for 8');
  });

  test('has fewer nodes, where the price is higher by no more than their surcharge', () => {
    expect(choose([[5, 5], [10.2], [10.3]]).plan).toBe('d for 10.2');
    expect(choose([[10.2], [5, 5], [10.3]]).plan).toBe('d for 10.2');
    expect(choose([[10], [5.05, 5.05], [90]]).plan).toBe('d for 10');
    // With the two that stay the cheapest has four nodes for 30.
    const surcharge = 0.5 * surchargeOf({ price: 30, nodes: 4 }, 0);
    expect(choose([[5, 5], [10 + surcharge * 1.05], [90]]).plan).toBe('d for 5+5');
    expect(choose([[5, 5], [10 + surcharge * 0.95], [90]]).plan).toBe(`d for ${10 + surcharge * 0.95}`);
  });

  test('can be reached by commands, unless another is cheaper by a twentieth', () => {
    const first = (price: number) => {
      let calls = 0;
      return choose([[price], [10], [10]], { pays: () => calls++ > 0 }).plan;
    };
    expect(first(9)).toBe('d for 10');
    expect(first(8)).toBe('d for 8');
    // Of as good as the same price it would have fewer nodes.
    expect(choose([[5, 5], [10.2], [90]], { pays: (prices) => prices !== '10.2' }).plan).toBe('d for 5+5');
  });

  test('is chosen without checking much dearer ones for that', () => {
    expect(choose([[60], [5], [70]]).asked).toBe(1);
    expect(choose([[5], [5.01], [70]]).asked).toBe(2);
  });
});

describe('of fleets with equally many nodes the planned one', () => {
  // `z` goes in any case. `a` could stay, or be replaced by a launch.
  const fleetFor = (launch: number, { cost = 3, rate = 0 } = {}) =>
    run(
      { a: { price: 2, load: 2, cost }, z: { price: 50, load: 1 } },
      {
        given: ['', 'za'],
        rate,
        offer: ({ keep }) =>
          keep === 'a'
            ? [1]
            : [
                { price: launch, pods: [[2, 1]] },
                { price: 1, pods: [[1, 1]] },
              ],
      },
    ).plan;

  test('has less disruption cost, where its price is higher by no more than a thousandth', () => {
    expect(fleetFor(2)).toBe('z for 1');
    expect(fleetFor(1.998)).toBe('z for 1');
    expect(fleetFor(1.99)).toBe('az for 1.99+1');
    expect(fleetFor(2, { cost: 1 })).toBe('az for 2+1');
  });

  test('has the lower sum of price and disruption', () => {
    expect(fleetFor(1.99, { rate: 0.001 })).toBe('az for 1.99+1');
    expect(fleetFor(1.99, { rate: 0.01 })).toBe('z for 1');
  });
});

describe('nodes that would only be launched again', () => {
  // `new` holds pods worth 4 for 8.
  const eight: Bought = { price: 8, pods: [[2, 2]] };
  const rest = { price: 50, load: 1, free: 0 };
  const keeping = (
    nodes: Readonly<Record<string, Given>>,
    offer: Options['offer'] = ({ remove }) => (remove === 'z' ? [1] : [eight]),
  ) =>
    run({ z: rest, ...nodes }, { given: ['', `z${Object.keys(nodes).join('')}`], offer }).tried.map(({ keep }) => keep);

  test('stay where they cost no more for what they hold', () => {
    // What is worth 4 costs 8, and a fiftieth more is fine.
    expect(keeping({ a: { price: 8, load: 2, free: 2 } })).toContain('a');
    expect(keeping({ a: { price: 8.15, load: 2, free: 2 } })).toContain('a');
    expect(keeping({ a: { price: 8.17, load: 2, free: 2 } })).not.toContain('a');
    expect(keeping({ a: { price: 1, load: 2, free: 2, more: { open: false } } })).not.toContain('a');
  });

  test('are the fullest, one for each launch, by name among equals', () => {
    const full = { price: 4, load: 3, free: 1 };
    expect(keeping({ a: { price: 4, load: 1, free: 3 }, b: full })).toContain('b');
    expect(keeping({ b: full, a: full })).toContain('a');
    expect(keeping({ b: full, a: full })).not.toContain('b');
    const sixteen: Bought = { price: 16, pods: [[4, 4]] };
    const inTurn = keeping({ a: full, b: full }, ({ keep }) => (keep.length < 2 ? [sixteen] : [1]));
    expect(inTurn).toEqual(expect.arrayContaining(['a', 'ab']));
    expect(keeping({ a: full }, ({ keep }) => (keep === '' ? [{ price: 9 }] : [1]))).not.toContain('a');
    const two = [
      { price: 4, pods: [[2, 1]] as const },
      { price: 4, pods: [[2, 1]] as const },
    ];
    expect(keeping({ a: full, b: full, c: full }, ({ keep }) => (keep === '' ? two : [1]))).toContain('ab');
  });

  test('are looked for repeatedly, eight times at most', () => {
    const names = 'abcdefghij'.split('');
    const many = Object.fromEntries(names.map((name) => [name, { price: 4, load: 2, free: 2 }]));
    const kept = keeping(many, () => [eight]);
    expect(kept).toContain('abcdefgh');
    expect(kept).not.toContain('abcdefghi');
    expect(keeping(many, ({ keep }) => (keep.length < 3 ? [eight] : undefined))).toContain('abc');
  });
});

describe('further removals in a fleet plan', () => {
  const nodes = {
    k: { price: 1 },
    l: { price: 3 },
    m: { price: 2, more: { removable: false } },
    n: { price: 0 },
    z: { price: 5 },
  };

  test('take nodes whose pods fit on the others, the highest saving per disruption cost first', () => {
    const { ways, looked, plan } = run(nodes, { given: ['klmn', 'z'], extends: 'k' });
    expect(looked.slice(0, 2)).toEqual(['l', 'k']);
    expect(new Set(looked)).toEqual(new Set(['l', 'k']));
    expect(ways).toContain('lmn|zk alike');
    expect(plan).toBe('zk for ');
  });

  test('have to be worth moving their pods', () => {
    const dear = { ...nodes, k: { price: 1, cost: 11 } };
    expect(new Set(run(dear, { given: ['klmn', 'z'], rate: 0.09 }).looked)).toEqual(new Set(['l', 'k']));
    expect(new Set(run(dear, { given: ['klmn', 'z'], rate: 0.1 }).looked)).toEqual(new Set(['l']));
  });

  test('are made also where none was planned', () => {
    expect(run(nodes, { given: ['klmn', ''], extends: 'l' }).plan).toBe('l for ');
  });

  test('are not made where pods have no place in the fleet as it is', () => {
    expect(run(nodes, { given: ['klmn', 'z'], extends: 'kl', offer: () => undefined }).looked).toEqual([]);
  });
});

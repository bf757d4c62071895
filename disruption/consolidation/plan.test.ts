import { describe, expect, test } from '@jest/globals';
import { letters } from '../../test/builders/attempts.js';
import type { Launch, PodClass } from '../../packing/trial.js';
import type { FleetNode } from './fleet.js';
import type { Outcome, Purchase } from './outcome.js';
import { makePlan } from './plan.js';
import type { Simulation } from './simulation.js';

interface Given {
  readonly price: number;
  readonly type?: string;
  /** How many pods run there, each worth 1 of new capacity; `app` is what they are of. */
  readonly pods?: number;
  readonly app?: string;
  readonly free?: number;
  readonly saving?: number;
  readonly more?: Partial<FleetNode>;
}

/** Where the pods of removed nodes go: to launches and to nodes that stay. */
interface Way {
  readonly launches?: readonly { readonly price: number; readonly type?: string; readonly of: string }[];
  /** By nodes that stay, the nodes whose pods come there. */
  readonly moves?: Readonly<Record<string, string>>;
}

interface Options {
  /** Where all pods go when nodes are removed for the whole plan; undefined where some have no place. */
  readonly offer?: (removed: string) => Way | undefined;
  /** The same when a few nodes of the planned fleet are replaced. */
  readonly improved?: (removed: string) => Way | undefined;
  readonly rest?: number;
}

type Loads = Map<string, string[]>;

/** Makes a plan for a fleet with given worths. */
function run(
  nodes: Readonly<Record<string, Given>>,
  { offer = () => undefined, improved = () => undefined, rest = 0 }: Options,
) {
  const nodeOf = (
    name: string,
    { price, type = 'old', pods = 0, app = name, free = 0, saving = 0, more }: Given,
  ): FleetNode =>
    ({
      name,
      price,
      instanceType: type,
      capacityType: 'on-demand',
      cost: 1,
      saving,
      loads: pods === 0 ? new Map() : new Map([[app, Array.from({ length: pods }, (_, i) => `${name}${i}`)]]),
      waiting: new Map(),
      state: { name, free: [free] },
      gone: false,
      removable: true,
      open: true,
      onlyEmpty: false,
      ...more,
    }) as unknown as FleetNode;
  const fleet = Object.entries(nodes).map(([name, given]) => nodeOf(name, given));
  for (let i = 0; i < rest; i++) fleet.push(nodeOf(`gone ${i}`, { price: 1, more: { gone: true } }));
  const loadsOf = (some: readonly FleetNode[]): Loads => {
    const all: Loads = new Map();
    for (const { loads } of some as unknown as { loads: Loads }[]) {
      for (const [app, pods] of loads) all.set(app, [...(all.get(app) ?? []), ...pods]);
    }
    return all;
  };
  const named = (names: string): FleetNode[] => fleet.filter(({ name, gone }) => !gone && names.includes(name));
  const planned: { keep: string; remove: string }[] = [];
  const names: string[] = [];
  const asked: (string | boolean | undefined)[][] = [];
  let mostPaid: number | undefined;
  let isNew = false;
  let targets = '';
  const outcomeOf = (candidates: readonly FleetNode[], { launches = [], moves = {} }: Way) => ({
    candidates,
    placements: Object.entries(moves).flatMap(([to, from]) =>
      [...loadsOf(named(from))].map(([podClass, pods]) => ({ node: named(to)[0]!.state, podClass, pods })),
    ),
    launches: launches.map(({ price, type = 'new', of }) => ({
      price,
      type,
      claim: {
        members: [...loadsOf(candidates.filter(({ name }) => of.includes(name)))].map(([podClass, pods]) => ({
          podClass,
          pods,
        })),
      },
    })),
  });
  const loadOf = (loads: Loads): number[] => [[...loads.values()].flat().length];
  const simulation = {
    nodes: fleet,
    surcharge: 0,
    // No node can be saved, so that none counts more than it costs.
    worth: { of: ([amount]: readonly number[]) => amount, leastNodes: Infinity },
    trial: {
      loadOf,
      demandOf: () => [1],
      filled: (launch: object, loads: Loads) => ({ ...launch, holds: [...loads.values()].flat() }),
    },
    disruptionOf: () => 0,
    savingOf: ({ saving }: FleetNode & { saving: number }) => saving,
    setTargets: (some: readonly FleetNode[]) => (targets = letters(some)),
    undo: () => [],
    redo: () => undefined,
    attempts: {
      byPlacing: (removed: readonly FleetNode[], { search }: Purchase): Outcome | undefined => {
        const isWhole = typeof search === 'object' && !('most' in search);
        if (isWhole && isNew) planned.push({ keep: targets, remove: letters(removed) });
        if (isWhole) isNew = false;
        const way = isWhole ? offer(letters(removed)) : improved(letters(removed));
        return way && (outcomeOf(removed, way) as unknown as Outcome);
      },
      extend: () => false,
      extended: (outcome: Outcome) => outcome,
    },
    apply: ({ candidates, placements, launches }: Outcome, nameOf: (launch: number) => string) => {
      for (const { node, podClass, pods } of placements) {
        const { loads } = fleet.find(({ state }) => state === node)!;
        loads.set(podClass, [...(loads.get(podClass) ?? []), ...pods]);
      }
      for (const node of candidates) Object.assign(node, { gone: true, loads: new Map() });
      return launches.map(({ price, type, claim }, i) => {
        names.push(nameOf(i));
        const node = nodeOf(nameOf(i), { price, type });
        for (const { podClass, pods } of claim.members) node.loads.set(podClass, [...pods]);
        fleet.push(node);
        return node;
      });
    },
    withoutEffect: <T>(dearest: number, plan: () => T): T => {
      mostPaid = dearest;
      isNew = true;
      const before = fleet.map(({ loads, gone }) => ({ loads: new Map(loads), gone }));
      const made = plan();
      fleet.splice(before.length);
      fleet.forEach((node, i) => Object.assign(node, before[i]));
      return made;
    },
  } as unknown as Simulation;
  const pays = ({ candidates }: Outcome, isAccompanied?: boolean): boolean => {
    asked.push([letters(candidates), isAccompanied]);
    return true;
  };
  const plan = makePlan(simulation, {
    pays,
    dearest: 7,
    isSpotForSpot: () => false,
    isInitial: false,
  });
  expect(mostPaid).toBe(7);
  const filled = [...plan.fleetPlan.filled] as unknown as { name: string }[];
  return {
    keep: letters(plan.keep),
    remove: letters(plan.remove),
    late: letters([...plan.late]),
    price: plan.price,
    launches: plan.fleetPlan.launches.map((launch) => {
      const { price, holds } = launch as Launch & { holds: string[] };
      return `${price}: ${holds.join()}`;
    }),
    filled: filled.map(({ name }) => name).join(''),
    routeOf: (app: string, pods: readonly string[]) =>
      plan.fleetPlan
        .route(new Map([[app as unknown as PodClass, pods as never]]), { of: () => 1 }, () => new Float64Array(1))
        ?.map(({ to, pods: some }) => [typeof to === 'number' ? to : (to as unknown as { name: string }).name, some]),
    /** Of each time that the fleet was planned, what the first way keeps and removes. */
    planned,
    names,
    asked,
  };
}

describe('the fleet plan', () => {
  const stays = { price: 1, pods: 1, free: 9 };
  const nodes = {
    k: { ...stays, app: 'web' },
    c: { price: 1, more: { open: false, removable: false } },
    a: { price: 9, pods: 2, app: 'web' },
    b: { price: 9, pods: 1 },
  };
  const offer = (): Way => ({ moves: { k: 'a' }, launches: [{ price: 4, of: 'b' }] });

  test('lists nodes that stay and take pods, removals and launches, with the total price', () => {
    expect(run(nodes, { offer })).toMatchObject({
      keep: 'k',
      remove: 'ab',
      launches: ['4: b0'],
      filled: 'k',
      price: 6,
    });
  });

  test('has routes for pods that move, and none for pods that stay', () => {
    const { routeOf } = run(nodes, { offer });
    expect(routeOf('web', ['x', 'y'])).toEqual([['k', ['x', 'y']]]);
    expect(routeOf('web', ['x', 'y', 'z'])).toBeUndefined();
    expect(routeOf('b', ['x'])).toEqual([[0, ['x']]]);
  });

  test('keeps the fleet where nothing is better', () => {
    expect(run(nodes, {})).toMatchObject({ keep: 'kab', remove: '', launches: [], filled: '', price: 20 });
  });

  test('gives each launch a distinct name, since each is a host', () => {
    const { names } = run(nodes, {
      offer: () => ({
        moves: { k: 'a' },
        launches: [
          { price: 3, of: 'b' },
          { price: 1, of: '' },
        ],
      }),
    });
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(1);
  });
});

describe('removals in a fleet plan', () => {
  const gone = { price: 9, pods: 1 };
  const offer = (launches: Way['launches']) => () => ({ launches: launches! });

  test('are sorted by saving, then by name', () => {
    const nodes = { b: { ...gone, saving: 1 }, a: { ...gone, saving: 1 }, c: { ...gone, saving: 2 } };
    expect(run(nodes, { offer: offer([{ price: 1, of: 'abc' }]) }).remove).toBe('cab');
  });

  // Rule `consolidation/same-type`.
  test('come last if their type is launched for the same price or more', () => {
    const nodes = {
      a: { ...gone, type: 't', price: 4, saving: 9 },
      b: { ...gone, type: 't', price: 4.1, saving: 1 },
      c: { price: 0.5, type: 'u', saving: 2 },
    };
    const late = (...prices: number[]) =>
      run(nodes, { offer: offer(prices.map((price) => ({ price, type: 't', of: 'abc' }))) });
    expect(late(4)).toMatchObject({ late: 'a', remove: 'cba' });
    expect(late(3.9)).toMatchObject({ late: '', remove: 'acb' });
    expect(late(4, 1)).toMatchObject({ late: 'a' });
    expect(late(1, 4)).toMatchObject({ late: 'a' });
    expect(late(4.1)).toMatchObject({ late: 'ab', remove: 'cab' });
  });
});

describe('a node that could stay instead of a launch', () => {
  const big = { price: 50, pods: 10 };
  /** All nodes go for launches; where one stays, the others go for `less`. */
  const planning = (nodes: Readonly<Record<string, Given>>, prices: readonly number[], less: number, rest = 0) => {
    const all = Object.keys(nodes).length;
    const offer = (removed: string): Way => ({
      launches: (removed.length === all ? prices : [less]).map((price, i) => ({
        price,
        type: 't',
        of: i === 0 ? 'z' : '',
      })),
    });
    const { planned, keep, remove, price } = run(
      { z: big, ...nodes },
      { offer: (removed) => offer(removed.replace('z', '')), rest },
    );
    return { stayed: planned.slice(1).map((each) => each.keep), keep, remove, price };
  };

  test.each<[string, Given, string[]]>([
    ['of its type, for no more', { price: 40, type: 't' }, ['a']],
    ['not of its type for more', { price: 40.1, type: 't', free: 99 }, []],
    ['of another type for a hundredth less, with room for its pods', { price: 39.5, free: 10 }, ['a']],
    ['not for less than a hundredth less', { price: 39.7, free: 10 }, []],
    ['not without room for its pods', { price: 39.5, free: 9 }, []],
    ['not where it takes no pods', { price: 40, type: 't', more: { open: false } }, []],
  ])('is planned with: %s', (_, node, expected) => {
    expect(planning({ a: { ...node, pods: 1 } }, [40], 40).stayed).toEqual(expected);
  });

  test('stays if the fleet costs no more than a thousandth more', () => {
    const nodes = { a: { price: 4, type: 't', pods: 1 } };
    expect(planning(nodes, [4, 1], 0.9)).toMatchObject({ keep: 'a', remove: 'z', price: 4.9 });
    expect(planning(nodes, [4, 1], 1)).toMatchObject({ keep: 'a', remove: 'z' });
    expect(planning(nodes, [4, 1], 1.004)).toMatchObject({ keep: 'a', remove: 'z' });
    expect(planning(nodes, [4, 1], 1.006)).toMatchObject({ keep: '', price: 5 });
  });

  test('is the cheapest of several, one per launch, the dearest launches first', () => {
    const like = (price: number): Given => ({ price, type: 't', pods: 1 });
    expect(planning({ a: like(3), b: like(2), c: like(3) }, [4], 1).stayed).toEqual(['b']);
    expect(planning({ a: like(2), b: like(2) }, [4, 4], 1).stayed).toEqual(['ab']);
    expect(planning({ a: like(2), b: like(3) }, [2, 4], 1).stayed).toEqual(['a']);
    expect(planning({ a: like(3), b: like(1.5) }, [2, 4], 1).stayed).toEqual(['b']);
  });

  test('is not looked for in a large fleet', () => {
    const nodes = { a: { price: 4, type: 't', pods: 1 } };
    expect(planning(nodes, [4], 1, 1998).stayed).toEqual(['a']);
    expect(planning(nodes, [4], 1, 1999).stayed).toEqual([]);
  });
});

describe('improvements of a fleet plan', () => {
  const offer = (removed: string): Way | undefined =>
    removed === 'a' ? { launches: [{ price: 8, of: 'a' }] } : undefined;

  test('take the place of what they replace in the plan', () => {
    const improved = (removed: string): Way | undefined =>
      removed === 'imagined 0' ? { launches: [{ price: 7, of: 'imagined 0' }] } : undefined;
    const plan = run({ a: { price: 9, pods: 2 } }, { offer, improved });
    expect(plan).toMatchObject({ remove: 'a', launches: ['7: a0,a1'], price: 7 });
  });

  // Rule `consolidation/spot-beside-on-demand`.
  test.each([
    ['on-demand', true],
    ['spot', false],
  ])('have to pay as removals do: %s', (capacityType, expected) => {
    const improved = (removed: string): Way | undefined =>
      removed === 'k' ? { launches: [{ price: 1, of: 'k' }] } : undefined;
    const nodes: Readonly<Record<string, Given>> = {
      k: { price: 5, pods: 1, free: 9 },
      a: { price: 9, pods: 9, more: { capacityType } },
    };
    const plan = run(nodes, { offer, improved });
    expect(plan.asked).toContainEqual(['k', expected]);
  });
});

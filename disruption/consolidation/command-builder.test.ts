import { describe, expect, jest, test } from '@jest/globals';
import type { Launch, NodeState } from '../../packing/trial.js';
import type { ChangingFleet } from './changing-fleet.js';
import { CommandBuilder } from './command-builder.js';
import type { FleetPlan } from './fleet-plan.js';
import type { FleetNode } from './fleet.js';
import type { NodeByNode } from './node-by-node.js';
import type { OutcomeEvaluator } from './outcome-evaluator.js';
import type { DecidedOutcome, Outcome } from './outcome.js';
import type { ConsolidationPlan } from './plan.js';
import type { Simulation } from './simulation.js';

const nodeOf = (name: string, price = 1, more: Partial<FleetNode> = {}): FleetNode =>
  ({ name, price, cost: 1, capacityType: 'on-demand', gone: false, loads: new Map(), ...more }) as unknown as FleetNode;
const names = (nodes: readonly FleetNode[]): string => nodes.map(({ name }) => name).join('');

interface Options {
  readonly keep?: readonly FleetNode[];
  readonly late?: string;
  readonly budget?: number;
  readonly commands?: number;
  /** The launches that the plan opens for a group, by number; undefined where rules forbid it. */
  readonly planned?: (group: string, first: number | undefined) => readonly number[] | undefined;
  /** Whether a group that goes as planned saves enough. */
  readonly saves?: (group: string) => boolean;
  /** Whether a group has a replacement of its own. */
  readonly alone?: (group: string) => boolean;
  readonly prices?: readonly number[];
  /** Which nodes a launch can serve. */
  readonly serves?: readonly string[];
}

function run(remove: readonly FleetNode[], options: Options = {}) {
  const {
    keep = [],
    late = '',
    budget = 100,
    commands = 99,
    planned = () => [],
    saves = () => true,
    alone = () => false,
    prices = [],
    serves = [],
  } = options;
  const did: string[] = [];
  const tried: string[] = [];
  const targets: string[] = [];
  const opened: string[] = [];
  const undo = jest.fn();
  const simulation = {
    undo,
    setTargets: (nodes: readonly FleetNode[]) => targets.push(names(nodes)),
    attempts: {
      byPlan: (group: readonly FleetNode[], _: unknown, first?: number): Outcome | undefined => {
        tried.push(first === undefined ? names(group) : `${names(group)}>${first}`);
        const openings = planned(names(group), first);
        return (
          openings && {
            candidates: group,
            placements: [],
            launches: openings.map((to) => ({ price: prices[to] ?? 0 }) as Launch),
            route: openings.map((to) => ({ podClass: {} as never, pods: [], to })),
          }
        );
      },
    },
  } as unknown as Simulation;
  const fleetPlan = {
    launches: prices.map((price) => ({ price, capacityType: 'spot' }) as Launch),
    unopened: () => prices.map((__, i) => i),
    servedBy: (nodes: readonly FleetNode[], launch: number) =>
      nodes.filter(({ name }) => serves[launch]?.includes(name) === true),
    done: (route: readonly { to: number }[], launched: (index: number) => NodeState) => {
      for (const { to } of route) opened.push(`${to} is ${(launched(to) as unknown as { name: string }).name}`);
    },
  } as unknown as FleetPlan;
  let number = 0;
  const carryOut = ({ candidates, launches, route }: DecidedOutcome): FleetNode[] => {
    did.push(route === undefined ? `${names(candidates)}!` : names(candidates));
    for (const node of candidates) node.gone = true;
    return launches.map(() => {
      const name = `L${number++}`;
      return nodeOf(name, 1, { state: { name } as unknown as NodeState });
    });
  };
  const fleet = {
    simulation,
    allowed: (wanted: readonly FleetNode[]) => wanted.slice(0, budget),
    carryOut,
    isEnough: () => did.length >= commands,
  } as unknown as ChangingFleet;
  const evaluator = {
    decide: (outcome: Outcome) => (saves(names(outcome.candidates)) ? { ...outcome, planned: [] } : undefined),
    evaluate: (candidates: readonly FleetNode[]) =>
      alone(names(candidates)) ? { candidates, placements: [], launches: [{} as Launch], planned: [] } : undefined,
  } as unknown as OutcomeEvaluator;
  const nodeByNode = { best: (outcome: DecidedOutcome) => outcome } as unknown as NodeByNode;
  const plan = {
    keep,
    remove,
    late: new Set(remove.filter(({ name }) => late.includes(name))),
    fleetPlan,
    price: 0,
  } as ConsolidationPlan;
  new CommandBuilder(fleet, evaluator, nodeByNode, plan).run();
  return { did, tried, targets, opened, undone: undo.mock.calls.length };
}
const fleetOf = (text: string): FleetNode[] => text.split('').map((name) => nodeOf(name));

describe('commands built from a fleet plan', () => {
  test('take as many nodes as budgets allow, as the plan says', () => {
    const { did, targets } = run(fleetOf('abcde'), { budget: 2, keep: fleetOf('k') });
    expect(did).toEqual(['ab', 'cd', 'e']);
    expect(new Set(targets)).toEqual(new Set(['k']));
  });

  test('skip nodes that are gone, and end when budgets or the number of commands are used up', () => {
    const gone = [nodeOf('x', 1, { gone: true }), ...fleetOf('a')];
    expect(run(gone, { keep: [nodeOf('y', 1, { gone: true }), ...fleetOf('k')] })).toMatchObject({
      did: ['a'],
      targets: ['k'],
    });
    expect(run(fleetOf('ab'), { budget: 0 })).toMatchObject({ did: [], targets: [] });
    expect(run(fleetOf('abc'), { budget: 1, commands: 2 }).did).toEqual(['a', 'b']);
    expect(run([]).targets).toEqual([]);
  });

  test('make their launches targets for later commands', () => {
    const { targets, opened } = run(fleetOf('ab'), {
      budget: 1,
      planned: (group) => (group === 'a' ? [1, 0, 1] : []),
      prices: [0.1, 0.1],
    });
    expect(targets.at(-1)).toBe('L0L1L2');
    expect(opened).toEqual(['1 is L0', '0 is L1', '1 is L0']);
  });

  test('take nodes of a launched type after the others', () => {
    expect(run(fleetOf('abc'), { late: 'b' }).did).toEqual(['ac', 'b']);
    expect(run(fleetOf('abc'), { late: 'b', planned: (group) => (group === 'ac' ? undefined : []) })).toMatchObject({
      did: ['abc'],
      tried: ['ac', 'abc'],
    });
    expect(run(fleetOf('ab'), { late: 'ab' }).tried).toEqual(['ab']);
  });

  test('that save too little are undone', () => {
    const { did, undone } = run(fleetOf('a'), { saves: () => false });
    expect(did).toEqual([]);
    expect(undone).toBeGreaterThan(0);
  });

  test('that save nothing yet are tried again after others', () => {
    let isDone = false;
    const saves = (group: string): boolean => {
      if (group === 'b') isDone = true;
      return group === 'b' || isDone;
    };
    expect(run(fleetOf('ab'), { budget: 1, saves }).did).toEqual(['b', 'a']);
    expect(run(fleetOf('ab'), { budget: 1, saves: () => false }).tried.filter((text) => text === 'a')).toHaveLength(1);
  });
});

describe('a group of nodes that cannot be removed as planned', () => {
  const never = { planned: () => undefined };

  test('gets its own replacement', () => {
    expect(run(fleetOf('ab'), { ...never, alone: (group) => group === 'ab' }).did).toEqual(['ab!']);
  });

  test('is halved, and the first half tried as planned or alone', () => {
    expect(run(fleetOf('abcd'), { ...never, alone: (group) => group === 'ab' }).did).toEqual(['ab!']);
    expect(run(fleetOf('abcd'), { planned: (group) => (group === 'ab' ? [] : undefined) }).did).toEqual(['ab']);
    expect(run(fleetOf('abc'), { ...never, alone: (group) => group === 'a' }).did).toEqual(['a!']);
  });

  test('is replaced by one launch for as many nodes as it serves, the dearest first', () => {
    const nodes = () => [nodeOf('a', 1), nodeOf('b', 3), nodeOf('c', 2)];
    const planned = (_: string, first: number | undefined) => (first === undefined ? undefined : [first]);
    const one = run(nodes(), { planned, prices: [4], serves: ['abc'] });
    expect(one.did[0]).toBe('bca');
    expect(one.tried).toContain('bca>0');
    expect(run(nodes(), { planned, prices: [5], serves: ['bc'] }).tried.filter((text) => text.includes('>'))).toEqual(
      [],
    );
    expect(run(nodes(), { planned, prices: [5, 1], serves: ['bc', 'c'] }).did[0]).toBe('c');
    expect(run(nodes(), { planned, prices: [1], serves: ['abc'], late: 'b' }).tried).toContain('ca>0');
    expect(run(nodes(), { planned, prices: [1], serves: ['abc'], budget: 2 }).did[0]).toBe('bc');
    const many = Array.from({ length: 12 }, () => 0.5);
    const fails = run(nodes(), { planned: () => undefined, prices: many, serves: many.map(() => 'abc') });
    expect(fails.tried.filter((text) => text.includes('>'))).toHaveLength(8);
  });

  test('is split into independent parts that save', () => {
    const saves = (group: string) => group === 'a' || group === 'b';
    const { did } = run(fleetOf('ab'), { saves });
    expect(did).toEqual(['a', 'b']);
    const free = [nodeOf('a', 1), nodeOf('b', 0), nodeOf('c', 2)];
    expect(run(free, { saves: (group) => group.length === 1 }).did).toEqual(['c', 'a', 'b']);
    expect(run(fleetOf('abc'), { saves: (group) => group === 'b', commands: 1 }).did).toEqual(['b']);
  });
});

import { describe, expect, jest, test } from '@jest/globals';
import type { ChangingFleet } from './changing-fleet.js';
import type { FleetNode } from './fleet.js';
import { NodeByNode } from './node-by-node.js';
import type { OutcomeEvaluator } from './outcome-evaluator.js';
import type { DecidedOutcome, Outcome } from './outcome.js';
import type { ConsolidationInput } from './types.js';

const nodeOf = (name: string, price: number, more: Partial<FleetNode> = {}): FleetNode =>
  ({ name, price, cost: 2, capacityType: 'on-demand', gone: false, open: true, ...more }) as FleetNode;
const names = (nodes: readonly FleetNode[]): string => nodes.map(({ name }) => name).join('');

interface Options {
  /** What the replacements of a group cost together; undefined if there are none. */
  readonly replaced?: (group: string) => number | undefined;
  /** How many nodes budgets let go in one command. */
  readonly budget?: number;
  /** Which nodes have room for their pods on others, one after the other. */
  readonly movable?: string;
  readonly worth?: (group: string) => boolean;
  readonly disruption?: number;
  readonly commands?: number;
  readonly input?: Partial<ConsolidationInput>;
  readonly offersSpot?: boolean;
}

/** The search over a fleet of these nodes, in order of saving. */
function searchOf(nodes: readonly FleetNode[], options: Options = {}) {
  const {
    replaced = () => undefined,
    budget = 100,
    movable = '',
    worth = () => true,
    disruption = 0,
    commands = 99,
    input = {},
    offersSpot = true,
  } = options;
  const carried: string[] = [];
  const targets: string[] = [];
  const evaluated: string[] = [];
  const undo = jest.fn();
  const alive = () => nodes.filter(({ gone }) => !gone);
  const fleet = {
    input,
    alive,
    bySaving: alive,
    get commands() {
      return carried.map(() => ({ method: 'single' }));
    },
    counted: alive,
    isEnough: () => carried.length >= commands,
    allowed: (wanted: readonly FleetNode[]) => wanted.slice(0, budget),
    setTargetsWithout: (group: readonly FleetNode[]) => targets.push(`-${names(group)}`),
    carryOut: ({ candidates, planned }: DecidedOutcome) => {
      carried.push(`${names(candidates)} ${planned.map(({ cheapest }) => cheapest.pricePerHour).join()}`);
      for (const node of candidates) node.gone = true;
      return [];
    },
    simulation: {
      undo,
      redo: () => undefined,
      disruptionOf: () => disruption,
      setTargets: (group: readonly FleetNode[]) => targets.push(names(group)),
      attempts: {
        byPlacing: (candidates: readonly FleetNode[]): Outcome | undefined =>
          movable.includes(candidates[0]!.name) ? { candidates, placements: [], launches: [] } : undefined,
        extend: (node: FleetNode) => movable.includes(node.name),
        extended: (outcome: Outcome, more: readonly FleetNode[]): Outcome => ({
          ...outcome,
          candidates: [...outcome.candidates, ...more],
        }),
      },
    },
  } as unknown as ChangingFleet;
  const judge = {
    offersSpot,
    isWorth: (group: readonly FleetNode[]) => worth(names(group)),
    evaluate: (candidates: readonly FleetNode[], units: number): DecidedOutcome | undefined => {
      expect(units).toBe(2000);
      evaluated.push(names(candidates));
      const price = replaced(names(candidates));
      return price === undefined
        ? undefined
        : ({
            candidates,
            placements: [],
            launches: [],
            planned: [{ cheapest: { pricePerHour: price } }],
          } as unknown as DecidedOutcome);
    },
  } as unknown as OutcomeEvaluator;
  return { search: new NodeByNode(fleet, judge), carried, targets, evaluated, undo };
}
const fleetOf = (count: number, price = 1): FleetNode[] =>
  Array.from({ length: count }, (_, i) => nodeOf(String.fromCharCode(97 + i), price));

describe('single nodes', () => {
  test('are removed together where their pods have room on others', () => {
    const { search, carried, targets } = searchOf([...fleetOf(4), nodeOf('x', 1, { open: false })], { movable: 'acx' });
    search.polish();
    expect(carried[0]).toBe('acx ');
    expect(targets[0]).toBe('abcd');
  });

  test('as many as budgets allow, one command after the other', () => {
    const { search, carried } = searchOf(fleetOf(3), { movable: 'abc', budget: 2 });
    search.polish();
    expect(carried).toEqual(['ab ', 'c ']);
  });

  test('that cost more than it is worth to move their pods, and whose policy agrees', () => {
    const nodes = [nodeOf('a', 1), nodeOf('b', 2), nodeOf('c', 3)];
    const dear = searchOf(nodes, { movable: 'abc', disruption: 2 });
    dear.search.polish();
    expect(dear.carried).toEqual(['c ']);
    const free = searchOf([nodeOf('a', 0)], { movable: 'a' });
    free.search.polish();
    expect(free.carried).toEqual([]);
    const agreed = searchOf(fleetOf(3), { movable: 'abc', worth: (group) => !group.includes('b') });
    agreed.search.polish();
    expect(agreed.carried).toEqual(['ac ']);
  });

  test('at most a hundred in one command', () => {
    const nodes = Array.from({ length: 103 }, (_, i) => nodeOf(String.fromCodePoint(0x4e00 + i), 1));
    const { search, carried } = searchOf(nodes, { movable: names(nodes), budget: 200 });
    search.polish();
    expect(carried.map((text) => text.trim().length)).toEqual([100, 3]);
  });

  test('are replaced one by one where something is cheaper', () => {
    const { search, carried, evaluated, targets } = searchOf(fleetOf(3), {
      replaced: (group) => (group === 'b' ? 0.5 : undefined),
    });
    search.polish();
    expect(new Set(evaluated)).toEqual(new Set(['a', 'b', 'c']));
    expect(carried).toEqual(['b 0.5']);
    expect(new Set(targets)).toEqual(new Set(['abc', '-a', '-b', '-c']));
  });

  test('go first that save most, and of equal ones those that disturb least (consolidation/parts-of-a-plan)', () => {
    const fleet = [nodeOf('a', 1, { cost: 3 }), nodeOf('b', 1), nodeOf('c', 2), nodeOf('d', 1, { cost: 1 })];
    const half = (group: string): number => (group === 'c' ? 1 : 0.5);
    const replaced = searchOf(
      fleet.map((node) => ({ ...node })),
      { replaced: half },
    );
    replaced.search.polish();
    expect(replaced.carried[0]).toBe('c 1');
    const removed = searchOf(
      fleet.map((node) => ({ ...node })),
      { movable: 'ab', replaced: half, budget: 1 },
    );
    removed.search.polish();
    expect(removed.carried[0]).toBe('c 1');
    const equal = searchOf([fleet[0]!, fleet[1]!, fleet[3]!], { replaced: half });
    equal.search.polish();
    expect(equal.carried[0]).toBe('d 0.5');
  });

  test('are not replaced where budgets let none go, or there are enough commands', () => {
    const none = searchOf(fleetOf(2), { replaced: () => 0.5, budget: 0 });
    none.search.polish();
    expect(none.evaluated).toEqual([]);
    const enough = searchOf(fleetOf(3), { replaced: () => 0.5, commands: 1 });
    enough.search.polish();
    expect(enough.carried).toEqual(['a 0.5']);
    const removed = searchOf(fleetOf(3), { movable: 'ab', replaced: () => 0.5, commands: 1 });
    removed.search.polish();
    expect(removed.carried).toEqual(['ab ']);
  });

  test.each<[string, Options, string[]]>([
    ['not while spot is sold', {}, []],
    ['with the feature gate', { input: { spotToSpot: true } }, ['s']],
    ['where no spot is sold', { offersSpot: false }, ['s']],
  ])('of spot are replaced: %s (consolidation/spot-to-spot)', (_, options, expected) => {
    const { search, evaluated } = searchOf([nodeOf('s', 1, { capacityType: 'spot' })], options);
    search.polish();
    expect(evaluated).toEqual(expected);
  });
});

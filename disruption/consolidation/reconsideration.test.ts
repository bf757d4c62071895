import { describe, expect, test } from '@jest/globals';
import { letters } from '../../test/builders/attempts.js';
import type { Launch } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import type { ChangingFleet } from './changing-fleet.js';
import type { FleetNode } from './fleet.js';
import type { OutcomeEvaluator } from './outcome-evaluator.js';
import type { DecidedOutcome, Outcome } from './outcome.js';
import { Reconsideration } from './reconsideration.js';
import type { ConsolidationInput } from './types.js';

const nodeOf = (name: string, more: Partial<FleetNode> = {}): FleetNode =>
  ({ name, price: 1, cost: 2, removable: true, waiting: new Map(), ...more }) as FleetNode;
const launches = (...prices: readonly number[]): Launch[] => prices.map((price) => ({ price }) as Launch);
const claims = (count: number): PlannedClaim[] => Array.from({ length: count }, () => ({}) as PlannedClaim);

interface Options {
  readonly input?: Partial<ConsolidationInput>;
  readonly held?: ChangingFleet['held'];
  /** How many empty nodes may go now. */
  readonly empties?: number;
  /** What each way comes to, by what its launches cost; undefined where it is not possible. */
  readonly ways?: Readonly<Partial<Record<'best' | 'decided' | 'targets' | 'plan' | 'one', readonly number[]>>>;
  /** Whether an outcome with launches at these prices is allowed. */
  readonly allows?: (prices: string) => boolean;
  /** The least saving of the decision, and whether policies and spot allow it. */
  readonly least?: number;
  readonly isWorth?: boolean;
  readonly isSpotForSpot?: boolean;
}

function reconsiderationOf(nodes: readonly FleetNode[], options: Options = {}) {
  const { input = {}, held = [], empties = 99, ways = {}, allows = () => true, least = 0 } = options;
  const did: string[] = [];
  const asked: string[] = [];
  const commands: object[] = [];
  /** How many outcomes are applied and not undone. */
  let applied = 0;
  const outcomeOf = (
    way: keyof NonNullable<Options['ways']>,
    candidates: readonly FleetNode[],
  ): Outcome | undefined => {
    did.push(way);
    const prices = ways[way];
    if (prices === undefined) return undefined;
    applied += 1;
    return { candidates, placements: [], launches: launches(...prices) };
  };
  const decide = (outcome: Outcome): DecidedOutcome | undefined =>
    allows(outcome.launches.map(({ price }) => price).join()) ? { ...outcome, planned: [] } : undefined;
  const fleet = {
    input,
    held,
    commands,
    alive: () => nodes,
    counted: () => nodes,
    budgets: {
      take: (_: unknown, wanted: readonly FleetNode[], reason: string, most: number) => {
        asked.push(`${reason} ${letters(wanted)}`);
        return wanted.slice(0, Math.min(most, empties));
      },
    },
    setTargetsWithout: (going: readonly FleetNode[]) => asked.push(`targets without ${letters(going)}`),
    simulation: {
      undo: () => {
        applied -= 1;
        return ['one'];
      },
      redo: (changes: readonly string[]) => (applied += changes.length),
      attempts: {
        byDecision: (some: readonly FleetNode[]) => outcomeOf('decided', some),
        byPlan: (some: readonly FleetNode[], plan: unknown) => {
          expect(plan).toBe('the plan');
          return outcomeOf('plan', some);
        },
        byPlacing: (some: readonly FleetNode[]) => outcomeOf('targets', some),
        onOneNode: (some: readonly FleetNode[], below: number) => {
          expect(below).toBe(some.length);
          return outcomeOf('one', some);
        },
      },
    },
    carryOut: (outcome: DecidedOutcome) => commands.push({ ...outcome }),
  };
  const judge = {
    evaluate: (some: readonly FleetNode[]) => {
      const outcome = outcomeOf('best', some);
      return outcome && { ...outcome, planned: [] };
    },
    decide,
    leastFor: () => least,
    isTooLittle: (_: unknown, saving: number, asks: number) => saving <= asks,
    isWorth: () => options.isWorth ?? true,
    isSpotForSpot: () => options.isSpotForSpot ?? false,
    whyRejected: (name: string) => `${name} was rejected`,
  };
  const reconsideration = new Reconsideration(
    fleet as unknown as ChangingFleet,
    judge as unknown as OutcomeEvaluator,
    () => ({ fleetPlan: 'the plan' }) as never,
  );
  const take = (...names: string[]): string | undefined => {
    const command = reconsideration.take(names) as DecidedOutcome | undefined;
    expect(applied).toBe(command === undefined ? 0 : 1);
    return command && `${letters(command.candidates)} for ${command.launches.map(({ price }) => price).join('+')}`;
  };
  return { reconsideration, take, did, asked };
}
const both = [nodeOf('a'), nodeOf('b')];

// Rule `commands/validation`.
describe('validating nodes without recorded replacements', () => {
  test('removes them in the way that is best now, if all may be removed', () => {
    const best = { ways: { best: [0.5] } };
    const { take, asked } = reconsiderationOf([...both, nodeOf('c', { removable: false })], best);
    expect([take('a', 'c'), take('a', 'x'), take('b', 'a')]).toEqual([undefined, undefined, 'ab for 0.5']);
    expect(asked.at(-1)).toBe('targets without ab');
  });

  test('keeps them where nothing is found', () => {
    expect(reconsiderationOf(both).take('a', 'b')).toBeUndefined();
  });

  test('keeps them where a budget protects an empty one of them', () => {
    const empty = nodeOf('a', { cost: 1 });
    const trying = (empties: number, ...nodes: FleetNode[]) =>
      reconsiderationOf(nodes, { empties, ways: { best: [] } });
    const held = trying(0, empty, nodeOf('b'));
    expect([held.take('a', 'b'), held.asked]).toEqual([undefined, ['Empty a']]);
    expect(trying(1, empty, nodeOf('b')).take('a', 'b')).toBe('ab for ');
    expect(trying(1, empty, nodeOf('b', { cost: 1 })).take('a', 'b')).toBeUndefined();
    expect(trying(0, ...both).take('a', 'b')).toBe('ab for ');
  });
});

describe('validating nodes with their recorded replacements', () => {
  const decided = claims(1);
  const again = (more: Options) =>
    reconsiderationOf(both, { input: { decided }, ways: { decided: [1.5], best: [0.1] }, ...more });

  test('uses these replacements, whatever would be cheaper', () => {
    const { reconsideration, did } = again({});
    expect(reconsideration.take(['a', 'b'])).toMatchObject({ planned: decided, launches: [{ price: 1.5 }] });
    expect(did).toEqual(['decided']);
  });

  test.each<[string, Options]>([
    ['rules forbid it', { ways: { best: [0.1] } }],
    ['it saves too little', { least: 0.5 }],
    ['policies find it not worth it', { isWorth: false }],
    ['spot would be replaced by spot', { isSpotForSpot: true }],
  ])('keeps the nodes where %s', (_, more) => {
    expect(again(more).reconsideration.take(['a', 'b'])).toBeUndefined();
  });

  test('accepts a saving just above the required one', () => {
    expect(again({ least: 0.49 }).take('a', 'b')).toBe('ab for 1.5');
  });
});

describe('validating nodes with a number of replacements', () => {
  const within = (mostReplacements: number, more: Options) =>
    reconsiderationOf(both, { input: { mostReplacements }, ...more });

  test('uses the cheapest alternative with at most that many replacements', () => {
    const { take, did } = within(2, { ways: { best: [0.4, 0.4], one: [1] } });
    expect([take('a', 'b'), did]).toEqual(['ab for 0.4+0.4', ['best']]);
  });

  test('tries none where all pods fit elsewhere, then a fleet plan, then one replacement', () => {
    const none = within(1, { ways: { best: [0.4, 0.4], targets: [], plan: [0.9], one: [1] } });
    expect([none.take('a', 'b'), none.did]).toEqual(['ab for ', ['best', 'targets']]);
    const plan = within(1, { ways: { best: [0.4, 0.4], plan: [0.9], one: [1] } });
    expect([plan.take('a', 'b'), plan.did]).toEqual(['ab for 0.9', ['best', 'targets', 'plan']]);
    const one = within(1, { ways: { best: [0.4, 0.4], one: [1] } });
    expect([one.take('a', 'b'), one.did]).toEqual(['ab for 1', ['best', 'targets', 'plan', 'one']]);
    expect(one.asked.filter((text) => text === 'targets without ab')).toHaveLength(4);
  });

  test('uses no alternative with more replacements, or beyond a budget', () => {
    const long = within(1, { ways: { best: [0.4, 0.4], plan: [0.3, 0.3], one: [1] } });
    expect(long.take('a', 'b')).toBe('ab for 1');
    const forbidden = within(1, {
      ways: { best: [0.4, 0.4], plan: [0.9], one: [1] },
      allows: (prices) => prices !== '0.9',
    });
    expect(forbidden.take('a', 'b')).toBe('ab for 1');
  });

  test('of 0 tries no single replacement, but a fleet plan, which may fit all pods', () => {
    const { take, did } = within(0, { ways: { best: [0.5], plan: [0.9], one: [1] } });
    expect([take('a', 'b'), did]).toEqual(['ab for 0.5', ['best', 'targets', 'plan']]);
    const roomy = within(0, { ways: { best: [0.5], plan: [], one: [1] } });
    expect([roomy.take('a', 'b'), roomy.did]).toEqual(['ab for ', ['best', 'targets', 'plan']]);
  });

  test('uses more where fewer are not possible', () => {
    const { take, did } = within(1, { ways: { best: [0.4, 0.4] } });
    expect([take('a', 'b'), did]).toEqual(['ab for 0.4+0.4', ['best', 'targets', 'plan', 'one']]);
    expect(within(1, {}).take('a', 'b')).toBeUndefined();
  });
});

describe('why a validated node stays', () => {
  test('is its blocker, or why its removal was rejected; undefined if it may be removed', () => {
    const held = [
      { node: 'x', why: 'not this one' },
      { node: 'a', why: 'it is held' },
    ];
    const why = (options: Options) => reconsiderationOf(both, options).reconsideration.whyStays('a');
    expect(why({ held })).toBe('it is held');
    expect(why({ held: held.slice(0, 1) })).toBe('a was rejected');
    expect(why({ ways: { best: [0.5] } })).toBeUndefined();
    const fixed = [nodeOf('a', { removable: false })];
    expect(reconsiderationOf(fixed, { ways: { best: [0.5] } }).reconsideration.whyStays('a')).toBe('a was rejected');
  });
});

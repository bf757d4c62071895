import { describe, expect, jest, test } from '@jest/globals';
import type { Launch, Launches } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import { pool } from '../../test/builders/consolidation.js';
import type { ChangingFleet } from './changing-fleet.js';
import type { FleetNode } from './fleet.js';
import { OutcomeEvaluator } from './outcome-evaluator.js';
import type { Outcome, Purchase } from './outcome.js';
import { spotToSpotIsOff } from './launch-options.js';
import type { ConsolidationInput } from './types.js';

const nodeOf = (name: string, price: number, more: Partial<FleetNode> = {}): FleetNode =>
  ({
    name,
    price,
    nodePool: 'default',
    pool: pool('default'),
    cost: 2,
    capacityType: 'on-demand',
    instanceType: 'old',
    counted: 'running',
    ...more,
  }) as unknown as FleetNode;
const launchOf = (price: number, capacityType = 'on-demand'): Launch => ({ price, capacityType }) as Launch;

interface Options {
  readonly input?: Partial<ConsolidationInput>;
  readonly disruption?: number;
  readonly requiresOnDemand?: boolean;
  readonly cannotDescribe?: boolean;
  /** What the types of launches cost where they are launched; their planned price by default. */
  readonly sold?: number;
  readonly offers?: (purchase: Purchase) => readonly Launch[] | undefined;
  /** The one node that is found for all pods. */
  readonly single?: Launch;
}

/** An evaluator over a fleet that costs 10 a node on average. */
function evaluatorOf({
  input = {},
  disruption = 0,
  requiresOnDemand = true,
  cannotDescribe = false,
  sold,
  offers = () => undefined,
  single,
}: Options = {}) {
  const undo = jest.fn(() => ['undone']);
  const redo = jest.fn();
  const purchases: Purchase[] = [];
  const bounds: number[] = [];
  const waysUnder =
    ({ cheapest }: PlannedClaim) =>
    () => [{ zone: 'a', capacityType: cheapest.capacityType, price: sold ?? cheapest.pricePerHour }];
  const launches = { offers: () => true, missMinValues: () => false, waysUnder } as unknown as Launches;
  const claimOf = ({ price, capacityType }: Launch): PlannedClaim =>
    ({
      nodePool: 'default',
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] }],
      annotations: {},
      instanceTypes: ['m'],
      cheapest: { pricePerHour: price, capacityType },
    }) as unknown as PlannedClaim;
  const fleet = {
    input,
    requiresOnDemand,
    averagePrice: () => 10,
    counted: () => [],
    simulation: {
      trial: { launches },
      disruptionOf: () => disruption,
      describe: ({ launches: all }: Outcome) => (cannotDescribe ? undefined : all.map(claimOf)),
      undo,
      redo,
      attempts: {
        byPlacing: (candidates: readonly FleetNode[], purchase: Purchase): Outcome | undefined => {
          purchases.push(purchase);
          const found = offers(purchase);
          return found && { candidates, placements: [], launches: found };
        },
        onOneNode: (candidates: readonly FleetNode[], below: number): Outcome | undefined => {
          bounds.push(below);
          return single && single.price < below ? { candidates, placements: [], launches: [single] } : undefined;
        },
      },
    },
  } as unknown as ChangingFleet;
  return { evaluator: new OutcomeEvaluator(fleet), undo, redo, purchases, bounds };
}
const outcomeOf = (candidates: readonly FleetNode[], ...launches: readonly Launch[]): Outcome => ({
  candidates,
  placements: [],
  launches,
});
const isDecided = (options: Options, candidates: readonly FleetNode[], ...launches: readonly Launch[]): boolean =>
  evaluatorOf(options).evaluator.decide(outcomeOf(candidates, ...launches)) !== undefined;
const whyNot = (options: Options, node: FleetNode, ...launches: readonly Launch[]): string => {
  const { evaluator } = evaluatorOf(options);
  expect(evaluator.decide(outcomeOf([node], ...launches))).toBeUndefined();
  return evaluator.whyRejected(node.name);
};
const one = [nodeOf('a', 10)];
const two = [nodeOf('a', 10), nodeOf('b', 10)];

describe('removing nodes without replacement', () => {
  test('pays where they cost something', () => {
    expect(isDecided({}, one)).toBe(true);
    expect(isDecided({}, [nodeOf('a', 0)])).toBe(false);
    const { evaluator } = evaluatorOf();
    expect(evaluator.decide(outcomeOf(one))).toEqual({ ...outcomeOf(one), planned: [] });
  });

  test('has to save more than moving their pods is worth', () => {
    expect(isDecided({ disruption: 9.9 }, one)).toBe(true);
    expect(isDecided({ disruption: 10 }, one)).toBe(false);
    expect(whyNot({ disruption: 11 }, one[0]!)).toBe(
      'it would save 10 USD of 10 USD an hour, and must save more than 11 USD for what it disturbs',
    );
  });
});

describe('the saving that replacing nodes requires', () => {
  test.each<[string, Options, readonly FleetNode[], readonly number[], boolean]>([
    ['more than a hundredth, by one node', {}, one, [9.89], true],
    ['a hundredth is not enough', {}, one, [9.9], false],
    ['a tenth, by several', {}, two, [8.9, 9], true],
    ['less than a tenth is not enough', {}, two, [9, 9.1], false],
    ['a quarter, by more nodes than before', {}, one, [3.7, 3.7], true],
    ['less than a quarter is not enough', {}, one, [3.8, 3.8], false],
    ['what moving their pods is worth', { disruption: 3 }, one, [6.9], true],
    ['or else not', { disruption: 3 }, one, [7], false],
    ['by more nodes: a share of the average node', { input: { leastSplitShare: 0.4 } }, one, [2.9, 3], true],
    ['or else not', { input: { leastSplitShare: 0.4 } }, one, [3, 3], false],
    ['that share is not asked for by as many nodes', { input: { leastSplitShare: 0.9 } }, one, [9], true],
    [
      'pods moved lately: a share of the average node',
      { input: { movedTo: new Set(['a']), leastAgainShare: 0.3 } },
      one,
      [6.9],
      true,
    ],
    ['or else not', { input: { movedTo: new Set(['a']), leastAgainShare: 0.3 } }, one, [7], false],
    ['others were not moved', { input: { movedTo: new Set(['b']), leastAgainShare: 0.3 } }, one, [9], true],
    ['what it costs as it can be launched', { sold: 9.95 }, one, [9], false],
  ])('%s', (_, options, candidates, prices, expected) => {
    expect(isDecided(options, candidates, ...prices.map((price) => launchOf(price)))).toBe(expected);
  });

  test('is evaluated with the planned launches', () => {
    const { evaluator } = evaluatorOf();
    const decided = evaluator.decide(outcomeOf(one, launchOf(5)))!;
    expect(decided.planned.map(({ cheapest }) => cheapest.pricePerHour)).toEqual([5]);
    expect(decided.launches).toHaveLength(1);
    expect(evaluator.pays(outcomeOf(one, launchOf(5)))).toBe(true);
    expect(evaluator.pays(outcomeOf(one, launchOf(11)))).toBe(false);
  });
});

describe('the reason why a node stays', () => {
  test('is the rejected alternative that came nearest', () => {
    expect(evaluatorOf().evaluator.whyRejected('a')).toBe('there is no cheaper place for its pods');
    expect(whyNot({}, one[0]!, launchOf(10))).toBe('there is no cheaper place for its pods');
    expect(whyNot({}, one[0]!, launchOf(9.95))).toBe(
      'it would save 0.05 USD of 10 USD an hour, and must save more than 0.1 USD for what it disturbs',
    );
    expect(whyNot({ cannotDescribe: true }, one[0]!, launchOf(5))).toBe('there is no place for its pods');
    expect(whyNot({ sold: 12 }, one[0]!, launchOf(5))).toBe(
      'no instance type is certain to be cheaper, whichever offering the launch gets',
    );
  });

  test("is its NodePool's policy", () => {
    const leastSavings = (share: number, dollarsPerHour: number) => ({
      input: { leastSavings: new Map([['default', { share, dollarsPerHour }]]) },
    });
    expect(whyNot(leastSavings(0.5, 0), one[0]!, launchOf(6))).toBe(
      'it would save 4 USD of 10 USD an hour; NodePool default asks for 50% and 0 USD',
    );
    expect(isDecided(leastSavings(0.5, 0), one, launchOf(5))).toBe(true);
    expect(isDecided(leastSavings(0.1, 5), one, launchOf(6))).toBe(false);
    expect(isDecided(leastSavings(0.1, 4), one, launchOf(6))).toBe(true);
    expect(isDecided(leastSavings(0, 11), one)).toBe(false);
    const others = { input: { leastSavings: new Map([['other', { share: 1, dollarsPerHour: 99 }]]) } };
    expect(isDecided(others, one, launchOf(6))).toBe(true);
  });

  test('is Balanced', () => {
    const balanced = nodeOf('a', 10, { pool: pool('default', { disruption: { consolidationPolicy: 'Balanced' } }) });
    expect(whyNot({}, balanced, launchOf(5))).toBe('consolidationPolicy: Balanced finds it not worth its disruption');
  });

  test('is spot that would be replaced by spot (consolidation/spot-beside-on-demand)', () => {
    const spot = nodeOf('a', 10, { capacityType: 'spot' });
    expect(whyNot({}, spot, launchOf(5, 'spot'))).toBe(spotToSpotIsOff);
    expect(isDecided({}, [spot], launchOf(5))).toBe(true);
    expect(isDecided({}, [spot, nodeOf('b', 1)], launchOf(5, 'spot'))).toBe(true);
    expect(isDecided({ requiresOnDemand: false }, [spot, spot], launchOf(5, 'spot'))).toBe(true);
    const { evaluator } = evaluatorOf();
    expect(evaluator.decide(outcomeOf([spot], launchOf(5, 'spot')), true)).toBeDefined();
    expect(evaluator.pays(outcomeOf([spot], launchOf(5, 'spot')), true)).toBe(true);
    expect(evaluator.pays(outcomeOf([spot], launchOf(5, 'spot')))).toBe(false);
    expect(evaluator.offersSpot).toBe(true);
  });
});

describe('evaluating the removal of nodes', () => {
  test('returns the decision, which stays applied', () => {
    const { evaluator, undo, purchases } = evaluatorOf({ offers: () => [] });
    expect(evaluator.evaluate(two, 300)?.launches).toEqual([]);
    expect(purchases).toEqual([{ search: { units: 300, most: 20 }, most: 20 }]);
    expect(undo).not.toHaveBeenCalled();
  });

  test('takes one node where it costs less than what packing finds (consolidation/several-nodes)', () => {
    const cheaper = evaluatorOf({ offers: () => [launchOf(5)], single: launchOf(4) });
    expect(cheaper.evaluator.evaluate(two, 300)?.launches).toEqual([launchOf(4)]);
    expect([cheaper.bounds, cheaper.undo.mock.calls.length]).toEqual([[5], 1]);
    const dearer = evaluatorOf({ offers: () => [launchOf(5)], single: launchOf(5) });
    expect(dearer.evaluator.evaluate(two, 300)?.launches).toEqual([launchOf(5)]);
    expect([dearer.purchases.length, dearer.redo.mock.calls]).toEqual([1, [[['undone']]]]);
  });

  test('tries one node where several do not save enough (consolidation/several-nodes)', () => {
    const offers = () => [launchOf(9.5), launchOf(9.4)];
    const { evaluator, undo, bounds } = evaluatorOf({ offers, single: launchOf(19) });
    expect(evaluator.evaluate(two, 300)?.launches).toEqual([launchOf(19)]);
    expect(bounds).toEqual([20]);
    expect(undo).toHaveBeenCalledTimes(1);
  });

  test('returns nothing where that does not save either, and leaves nothing applied', () => {
    const none = evaluatorOf({ offers: () => [launchOf(19.95)] });
    expect(none.evaluator.evaluate(two, 300)).toBeUndefined();
    expect([none.undo.mock.calls.length, none.purchases.length]).toEqual([1, 1]);
    const both = evaluatorOf({ offers: () => [launchOf(9.9), launchOf(9.9)], single: launchOf(19.95) });
    expect(both.evaluator.evaluate(two, 300)).toBeUndefined();
    expect(both.undo).toHaveBeenCalledTimes(2);
    const nowhere = evaluatorOf();
    expect(nowhere.evaluator.evaluate(two, 300)).toBeUndefined();
    expect(nowhere.undo).not.toHaveBeenCalled();
  });
});

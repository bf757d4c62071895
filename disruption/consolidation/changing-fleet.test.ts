import { describe, expect, test } from '@jest/globals';
import { annotations } from '../../api/labels.js';
import {
  bufferOf,
  huge,
  input,
  large,
  node,
  pending,
  pod,
  pool,
  small,
  type World,
} from '../../test/builders/consolidation.js';
import { named } from '../../test/builders/simulation.js';
import { ChangingFleet } from './changing-fleet.js';
import type { DecidedOutcome } from './outcome.js';
import type { ConsolidationInput } from './types.js';

const fleetOf = (world: World, more: Partial<ConsolidationInput> = {}, isOver = () => false): ChangingFleet =>
  new ChangingFleet({ ...input(world), ...more }, isOver);
const letters = (nodes: readonly { readonly name?: string }[]): string => nodes.map(({ name }) => name).join();
const removed = (name: string, of = large): ReturnType<typeof node> => {
  const { nodes, nodeClaims } = node(name, of);
  const [claim] = nodeClaims;
  const metadata = { ...claim!.metadata, deletionTimestamp: '2026-11-21T11:59:00Z' };
  return { nodes, nodeClaims: [{ ...claim!, metadata }] };
};
const kept = { annotations: { [annotations.doNotDisrupt]: 'true' } };

/** The outcome of removing nodes, as a command that may be carried out. */
function decided({ simulation }: ChangingFleet, ...names: string[]): DecidedOutcome {
  const outcome = simulation.attempts.byPlacing(named(simulation, ...names), { search: { units: 0 }, most: 99 })!;
  return { ...outcome, planned: simulation.describe(outcome)! };
}

describe('the fleet in a search', () => {
  // Rule `budgets/counted-nodes`.
  test('includes deleting nodes until they are gone, and no claims that never had a node', () => {
    const { nodeClaims } = removed('n3', small);
    const fleet = fleetOf({ nodes: [node('n0', large), node('n1', small), removed('n2'), { nodes: [], nodeClaims }] });
    expect([letters(fleet.alive()), fleet.counted().length]).toEqual(['n0,n1', 3]);
    expect(fleet.price).toBeCloseTo(0.5, 9);
    expect(fleet.averagePrice()).toBeCloseTo(0.5 / 3, 9);
    expect(fleet.counted().map(({ nodePool }) => nodePool)).toEqual(['default', 'default', 'default']);
  });

  test('has an average price of 0 without nodes', () => {
    expect(fleetOf({ nodes: [] }).averagePrice()).toBe(0);
  });

  test('says why its nodes may not be disrupted', () => {
    const { held } = fleetOf({ nodes: [node('n0', large), node('n1', large, kept)] });
    expect(held).toEqual([{ node: 'n1', why: expect.stringContaining('do-not-disrupt') }]);
  });

  test('lists removable nodes, those with most saving per disruption cost first', () => {
    const pools = [pool('default'), pool('calm', { disruption: { consolidationPolicy: 'WhenEmpty' } })];
    const nodes = [node('n0', large), node('n1', small), node('n2', large, kept), node('n3', huge, { pool: 'calm' })];
    const pods = [0, 1, 2].map((i) => pod(`web-${i}`, 'n0', 1));
    expect(letters(fleetOf({ pools, nodes, pods }).bySaving())).toBe('n1,n0');
  });

  test('moves pods only to nodes that stay and take pods', () => {
    const nodes = [node('n0', large), node('n1', large), node('n2', large, { initialized: false }), node('n3', large)];
    const fleet = fleetOf({ nodes, pods: [pod('web-0', 'n0', 3)] });
    const targets = (...going: string[]): readonly string[] | undefined => {
      fleet.setTargetsWithout(named(fleet.simulation, ...going));
      const outcome = fleet.simulation.attempts.byPlacing(named(fleet.simulation, 'n0'));
      if (outcome !== undefined) fleet.simulation.undo();
      return outcome?.placements.map(({ node: { view } }) => view.name);
    };
    expect([targets('n0'), targets('n0', 'n1'), targets('n0', 'n1', 'n3')]).toEqual([['n1'], ['n3'], undefined]);
  });

  test('requires on-demand replacements beside spot unless spot may replace spot (consolidation/spot-to-spot)', () => {
    const asked = (spotToSpot?: boolean) =>
      fleetOf({ nodes: [] }, spotToSpot === undefined ? {} : { spotToSpot }).requiresOnDemand;
    expect([asked(), asked(false), asked(true)]).toEqual([true, true, false]);
  });
});

describe('a search ends', () => {
  test('with the requested number of commands', () => {
    const fleet = fleetOf({ nodes: [node('n0', large), node('n1', large)] }, { mostCommands: 1 });
    expect(fleet.isEnough()).toBe(false);
    fleet.carryOut(decided(fleet, 'n0'));
    expect([fleet.isEnough(), fleet.wasCutShort]).toEqual([true, false]);
  });

  test('once it is stopped, and stays ended', () => {
    let isOver = false;
    const fleet = fleetOf({ nodes: [] }, {}, () => isOver);
    expect([fleet.isEnough(), fleet.wasCutShort]).toEqual([false, false]);
    isOver = true;
    expect(fleet.isEnough()).toBe(true);
    isOver = false;
    expect([fleet.isEnough(), fleet.wasCutShort]).toEqual([true, true]);
  });
});

describe('a command in the search', () => {
  const world: World = {
    nodes: [node('n0', huge), node('n1', large), node('n2', large)],
    pods: [pod('web-0', 'n0', 3), pod('api-0', 'n0', 0.5), pod('db-0', 'n0', 2), pending('late-0', 0.5)],
  };

  test('lists candidates, replacements and pod moves by name', () => {
    const fleet = fleetOf(world);
    fleet.setTargetsWithout(named(fleet.simulation, 'n0', 'n2'));
    const launched = fleet.carryOut(decided(fleet, 'n0'));
    expect(fleet.commands).toMatchObject([
      {
        method: 'single',
        decision: 'replace',
        candidates: ['n0'],
        replacements: [{ cheapest: { instanceType: 'small' }, pods: ['default/db-0'] }],
        priceBefore: 0.8 + 0.2 + 0.2,
        priceAfter: expect.closeTo(0.5, 9),
      },
    ]);
    // A pod that only waits is not moved.
    expect(fleet.commands[0]!.moves).toEqual([
      { pod: 'default/api-0', to: 'n1' },
      { pod: 'default/db-0', to: 'replacement-0-0' },
      { pod: 'default/web-0', to: 'n1' },
    ]);
    expect([letters(launched), letters(fleet.alive())]).toEqual(['replacement-0-0', 'n1,n2,replacement-0-0']);
    // Rule `consolidation/parts-of-a-plan`.
    expect(launched.map(({ removable }) => removable)).toEqual([false]);
    expect(fleet.price).toBe(fleet.commands[0]!.priceAfter);
  });

  test('moves no capacity buffer, though its launch has the room', () => {
    const fleet = fleetOf({ nodes: [node('n0', huge)], pods: [pod('web-0', 'n0', 1)], more: bufferOf(1, 1) });
    fleet.setTargetsWithout(fleet.alive());
    fleet.carryOut(decided(fleet, 'n0'));
    expect(fleet.commands).toMatchObject([
      {
        replacements: [{ pods: ['default/spare-buffer-0', 'default/web-0'] }],
        moves: [{ pod: 'default/web-0', to: 'replacement-0-0' }],
      },
    ]);
  });

  test('has its method, and replacements numbered by command', () => {
    const fleet = fleetOf({ nodes: [...world.nodes, node('n3', huge)], pods: [pod('web-0', 'n3', 3)] });
    fleet.setTargetsWithout(fleet.alive());
    fleet.carryOut(decided(fleet, 'n0'), 'empty');
    fleet.carryOut(decided(fleet, 'n1', 'n2'));
    const launched = fleet.carryOut(decided(fleet, 'n3'));
    expect(fleet.commands.map(({ method, decision }) => `${method} ${decision}`)).toEqual([
      'empty delete',
      'multi delete',
      'single replace',
    ]);
    expect(letters(launched)).toBe('replacement-2-0');
  });
});

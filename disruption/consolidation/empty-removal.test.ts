import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { letters } from '../../test/builders/attempts.js';
import type { PodClass } from '../../packing/trial.js';
import { pod } from '../../test/builders/consolidation.js';
import type { ChangingFleet } from './changing-fleet.js';
import { EmptyRemoval } from './empty-removal.js';
import type { FleetNode } from './fleet.js';
import type { DecidedOutcome, Outcome } from './outcome.js';
import type { ConsolidationMethod } from './types.js';

const nodeOf = (name: string, more: Partial<FleetNode> = {}): FleetNode =>
  ({ name, price: 1, cost: 1, removable: true, open: true, gone: false, waiting: new Map(), ...more }) as FleetNode;
const buffer = pod('spare-0', '', 1, { virtual: true });
const waitingFor = (one: Pod): FleetNode['waiting'] => new Map([[{} as PodClass, [one]]]);
const pendingOn = (): FleetNode['waiting'] => waitingFor(pod('late-0', '', 1));
const bufferOn = (): FleetNode['waiting'] => waitingFor(buffer);

interface Options {
  /** How many empty nodes may go at a time, and in all. */
  readonly atOnce?: number;
  readonly allowed?: number;
  readonly commands?: number;
  /** Whether what nodes hold finds another place. */
  readonly places?: (group: string, so: { readonly evicted: string }) => boolean;
  readonly which?: (node: FleetNode) => boolean;
}

function fleetOf(
  nodes: readonly FleetNode[],
  { atOnce = 999, allowed = 99, commands = 99, places = () => true }: Options,
) {
  const said = {
    did: [] as string[],
    targets: [] as string[],
    evicted: '',
    undone: 0,
    reasons: new Set(),
  };
  const fleet = {
    held: [],
    isEnough: () => said.did.length >= commands,
    alive: () => nodes.filter(({ gone }) => !gone),
    counted: () => nodes,
    budgets: {
      left: (_: unknown, reason: string) => {
        said.reasons.add(reason);
        return () => allowed;
      },
      take: (_: unknown, wanted: readonly FleetNode[], reason: string, most: number) => {
        said.reasons.add(reason);
        return wanted.slice(0, Math.min(most, atOnce));
      },
    },
    simulation: {
      setTargets: (some: readonly FleetNode[]) => said.targets.push(letters(some)),
      attempts: {
        byPlacing: (group: readonly FleetNode[]): Outcome | undefined =>
          places(letters(group), said) ? { candidates: group, placements: [], launches: [] } : undefined,
      },
      remove: ({ name }: FleetNode) => (said.evicted += name),
      undo: () => (said.undone += 1),
    },
    carryOut: ({ candidates, planned }: DecidedOutcome, method: ConsolidationMethod) => {
      expect([planned, method]).toEqual([[], 'empty']);
      said.did.push(letters(candidates));
      for (const node of candidates) node.gone = true;
      return [];
    },
  };
  return { said, fleet: fleet as unknown as ChangingFleet };
}

function removing(nodes: readonly FleetNode[], options: Options = {}) {
  const { said, fleet } = fleetOf(nodes, options);
  new EmptyRemoval(fleet).remove(options.which ?? (() => true));
  return said;
}

// Rule `consolidation/empty-nodes`.
describe('removing empty nodes', () => {
  test('takes as many at once as budgets allow, the dearest first', () => {
    const nodes = () => [nodeOf('a'), nodeOf('b', { price: 3 }), nodeOf('c', { price: 2 })];
    expect(removing(nodes()).did).toEqual(['bca']);
    expect(removing(nodes(), { atOnce: 2 }).did).toEqual(['bc', 'a']);
    expect(removing(nodes(), { atOnce: 0 }).did).toEqual([]);
    expect(removing(nodes(), { atOnce: 1, commands: 2 }).did).toEqual(['b', 'c']);
    expect([...removing(nodes()).reasons]).toEqual(['Empty']);
  });

  test('takes a hundred at most', () => {
    const many = Array.from({ length: 120 }, (_, i) => nodeOf(String.fromCodePoint(0x4e00 + i)));
    expect(removing(many).did.map(({ length }) => length)).toEqual([100, 20]);
  });

  test('takes removable nodes without pods that cost to evict, of those given', () => {
    const nodes = [
      nodeOf('a', { removable: false }),
      nodeOf('b', { cost: 1.5 }),
      nodeOf('c'),
      nodeOf('d'),
      nodeOf('e', { gone: true }),
    ];
    expect(removing(nodes, { which: ({ name }) => name !== 'd' }).did).toEqual(['c']);
  });

  test('moves their remaining pods to nodes that take pods', () => {
    expect(removing([nodeOf('a'), nodeOf('b', { open: false }), nodeOf('c', { cost: 2 })]).targets).toEqual(['ac']);
  });
});

describe('an empty node with remaining pods', () => {
  // Rule `consolidation/room-of-pending-pods`.
  test('stays where a pending pod has room only there', () => {
    const nodes = [nodeOf('a', { waiting: pendingOn() }), nodeOf('b')];
    expect(removing(nodes.map((node) => ({ ...node }))).did).toEqual(['ab']);
    expect(removing(nodes, { places: (group) => !group.includes('a') })).toMatchObject({ did: ['b'], evicted: '' });
  });

  // Rule `consolidation/pods-without-weight`.
  test('evicts a pod of disruption cost 0 that fits nowhere, and moves others', () => {
    // What b holds has no place. Once it is evicted there is nothing of it to place.
    const { did, evicted, undone } = removing([nodeOf('a'), nodeOf('b'), nodeOf('c')], {
      places: (group, { evicted: gone }) => !group.includes('b') || gone === 'b',
    });
    expect({ did, evicted, undone }).toEqual({ did: ['abc'], evicted: 'b', undone: 2 });
  });

  // Rule `capacity-buffers/nodes-are-not-empty`.
  test('stays where a capacity buffer has room only there', () => {
    const nodes = [nodeOf('a'), nodeOf('b', { waiting: bufferOn() }), nodeOf('c')];
    const { did, evicted } = removing(nodes, { places: (group) => !group.includes('b') });
    expect({ did, evicted }).toEqual({ did: ['ac'], evicted: '' });
    const alone = nodeOf('b', { waiting: bufferOn() });
    expect(removing([alone], { places: (group) => group === '' }).did).toEqual([]);
  });
});

// Rule `budgets/reasons`.
describe('empty nodes that a budget of 0 for Empty protects', () => {
  test('are not removed for another reason either, and say so', () => {
    const nodes = [
      nodeOf('a'),
      nodeOf('b', { cost: 2 }),
      nodeOf('c', { waiting: bufferOn() }),
      nodeOf('d', { removable: false }),
    ];
    const { fleet, said } = fleetOf(nodes, { allowed: 0 });
    new EmptyRemoval(fleet).protect();
    expect(nodes.map(({ removable }) => removable)).toEqual([false, true, true, false]);
    expect(fleet.held).toEqual([
      {
        node: 'a',
        why: 'it is empty, but no empty node of its NodePool may be disrupted now (budgets, windows or rates)',
      },
    ]);
    expect([...said.reasons]).toEqual(['Empty']);
  });

  test('are none where one node is allowed', () => {
    const nodes = [nodeOf('a'), nodeOf('b')];
    const { fleet } = fleetOf(nodes, { allowed: 1 });
    new EmptyRemoval(fleet).protect();
    expect([nodes.every(({ removable }) => removable), fleet.held]).toEqual([true, []]);
  });
});

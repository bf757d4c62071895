import { describe, expect, jest, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import {
  apartBy,
  bufferOf,
  huge,
  input,
  large,
  node,
  od,
  pending,
  pod,
  pool,
  small,
  type,
  type NodeOptions,
  type World,
} from '../../test/builders/consolidation.js';
import { consolidateFleet, reconsiderNodes } from './search.js';
import { Simulation } from './simulation.js';
import type { Consolidation, ConsolidationInput } from './types.js';

const run = (world: World, more: Partial<ConsolidationInput> = {}): Consolidation =>
  consolidateFleet({ ...input(world), ...more });
const gone = ({ commands }: Consolidation): string[] => commands.flatMap(({ candidates }) => candidates).sort();
const removed = (name: string, options?: NodeOptions): ReturnType<typeof node> => {
  const { nodes, nodeClaims } = node(name, large, options);
  const metadata = { ...nodeClaims[0]!.metadata, deletionTimestamp: '2026-11-21T11:59:00Z' };
  return { nodes, nodeClaims: [{ ...nodeClaims[0]!, metadata }] };
};

describe('deleting nodes in consolidation', () => {
  test('count in the price until they are gone, and are no candidates', () => {
    const result = run({ nodes: [node('n0', large), node('n1', large), removed('n2')], types: [large] });
    expect(result).toMatchObject({ nodesBefore: 3, nodesAfter: 1 });
    expect(result.priceBefore).toBeCloseTo(0.6, 9);
    expect(result.priceAfter).toBeCloseTo(0.2, 9);
    expect(gone(result)).toEqual(['n0', 'n1']);
  });

  test.each([
    ['2', 1],
    ['50%', 1],
    ['1', 0],
  ])('use up a budget of %s', (nodes, expected) => {
    const world = {
      pools: [pool('default', { disruption: { budgets: [{ nodes }] } })],
      nodes: [node('n0', large), node('n1', large), removed('n2')],
    };
    expect(gone(run(world, { mostCommands: 1 }))).toHaveLength(expected);
  });

  test.each([
    ['with it', true, ['n0']],
    ['without it', false, []],
  ])('count in their Balanced pool: %s', (_, isThere, expected) => {
    const cheap = type('cheap', 64, 256, od(0.1));
    const dear = type('dear', 64, 256, od(0.9));
    const held = { annotations: { [annotations.doNotDisrupt]: 'true' } };
    // n0 is a tenth of the price and half of the disruption of the two nodes that stay: with what leaves, less than that.
    const count = (name: string, on: string, pods: number): Pod[] =>
      Array.from({ length: pods }, (__, i) => pod(`${name}-${i}`, on, 0.01));
    const world: World = {
      pools: [pool('default', { disruption: { consolidationPolicy: 'Balanced' } })],
      nodes: [node('n0', cheap), node('n1', dear, held), ...(isThere ? [removed('n2')] : [])],
      pods: [...count('a', 'n0', 3), ...count('b', 'n1', 3), ...(isThere ? count('c', 'n2', 27) : [])],
      types: [cheap, dear, large],
    };
    expect(gone(run(world))).toEqual(expected);
  });
});

describe('pending pods in consolidation', () => {
  // Rule `consolidation/room-of-pending-pods`.
  const late = (count: number): Pod[] => Array.from({ length: count }, (_, i) => pending(`late-${i}`, 3));
  test.each<[string, number, string[]]>([
    ['one of two nodes', 1, ['n1']],
    ['both', 2, []],
    ['both, where there are more of them than they hold', 5, []],
  ])('keep the empty nodes that they need: %s', (_, count, expected) => {
    const world = { nodes: [node('n0', large), node('n1', large)], pods: late(count), types: [large] };
    expect(gone(run(world))).toEqual(expected);
  });

  // Rule `consolidation/room-of-pending-pods`.
  test('keep the room that they need, though not all of them have some', () => {
    const full = { nodes: [node('n0', large), node('n1', large)], pods: [pod('web-0', 'n0', 3)], types: [large] };
    expect(gone(run(full))).toEqual(['n1']);
    const busy = { ...full, pods: [...full.pods, pod('web-1', 'n1', 0.1), ...late(5)] };
    expect(gone(run({ ...busy, pods: busy.pods.slice(1) }))).toEqual([]);
    expect(gone(run(busy))).toEqual([]);
  });

  test('of capacity buffers keep their nodes (capacity-buffers/nodes-are-not-empty)', () => {
    // Two of them to a node.
    const world = { nodes: ['n0', 'n1', 'n2'].map((name) => node(name, large)), types: [large] };
    expect(gone(run({ ...world, more: bufferOf(1, 2) }))).toEqual(['n1', 'n2']);
    expect(gone(run({ ...world, more: bufferOf(3, 2) }))).toEqual(['n2']);
    expect(gone(run({ ...world, more: bufferOf(5, 2) }))).toEqual([]);
    // No node is removed for the part of the buffer that has no room.
    expect(gone(run({ ...world, more: bufferOf(7, 2) }))).toEqual([]);
  });

  // Otherwise provisioning would launch a node for the buffer, which is consolidated again, and so on.
  test.each<[string, number, string[]]>([
    ['keep the nodes from which topology would drive it', 2, []],
    ['do not keep what it does not need', 1, ['n3']],
  ])('%s (capacity-buffers/keep-their-places)', (_, replicas, expected) => {
    const apart = { labels: { app: 'web' }, spec: apartBy(labels.hostname, 'web') };
    const own = (name: string, on: string) => pod(name, on, 0.3, { spec: { ...apart.spec, nodeName: on } });
    const world: World = {
      nodes: ['n0', 'n1', 'n2', 'n3'].map((name) => node(name, small)),
      pods: [own('web-0', 'n0'), own('web-1', 'n1')],
      types: [small],
      more: bufferOf(replicas, 0.3, apart),
    };
    expect(gone(run(world))).toEqual(expected);
  });

  test('of a capacity buffer move to a smaller node with the pods beside them', () => {
    const ofSize = (cpu: number) => ({
      nodes: [node('n0', huge)],
      pods: [pod('web-0', 'n0', cpu)],
      more: bufferOf(1, 1),
    });
    expect(run(ofSize(1)).commands).toMatchObject([
      {
        candidates: ['n0'],
        replacements: [{ cheapest: { instanceType: 'small' }, pods: ['default/spare-buffer-0', 'default/web-0'] }],
        moves: [{ pod: 'default/web-0', to: 'replacement-0-0' }],
      },
    ]);
    expect(run(ofSize(2)).commands).toMatchObject([{ replacements: [{ cheapest: { instanceType: 'large' } }] }]);
    const [decided] = run(ofSize(1)).commands;
    const again = { ...input(ofSize(1)), decided: decided!.replacements };
    expect(reconsiderNodes(again, ['n0'])?.replacements).toEqual(decided!.replacements);
  });

  test('are never moved, and nothing is launched for those that fit elsewhere', () => {
    const world = {
      nodes: [node('n0', huge), node('n1', small)],
      pods: [pod('web-0', 'n0', 1), pending('late-0', 1)],
      types: [small, huge],
    };
    for (const { moves, replacements } of run(world).commands) {
      expect(moves.map((move) => move.pod)).not.toContain('default/late-0');
      expect(replacements.flatMap(({ pods }) => pods)).not.toContain('default/late-0');
    }
  });

  test('that fit only on a node that goes have room on its replacement', () => {
    const world = { nodes: [node('n0', huge)], pods: [pod('web-0', 'n0', 1), pending('late-0', 2)] };
    const { commands } = run({ ...world, types: [small, large, huge] });
    expect(commands).toMatchObject([
      {
        replacements: [{ cheapest: { instanceType: 'large' } }],
        moves: [{ pod: 'default/web-0', to: 'replacement-0-0' }],
      },
    ]);
    const [decided] = commands;
    const again = { ...input({ ...world, types: [small, large, huge] }), decided: decided!.replacements };
    expect(reconsiderNodes(again, ['n0'])?.replacements).toEqual(decided!.replacements);
  });

  test('that fit nowhere keep no node', () => {
    const world = {
      nodes: [node('n0', large), node('n1', large)],
      pods: [pod('web-0', 'n0', 1), pod('web-1', 'n1', 1), pending('late-0', 500)],
      types: [large],
    };
    expect(gone(run(world))).toHaveLength(1);
  });
});

describe('a budget of 0 nodes for Empty', () => {
  const protecting = pool('default', {
    disruption: { budgets: [{ nodes: '100%' }, { nodes: '0', reasons: ['Empty'] }] },
  });

  test('keeps empty nodes from being removed as Underutilized', () => {
    const world = { pools: [protecting], nodes: [node('n0', large), node('n1', large)] };
    const result = run(world);
    expect(gone(result)).toEqual([]);
    expect(result.held.map((held) => held.node)).toEqual(['n0', 'n1']);
    expect(reconsiderNodes(input(world), ['n0'])).toBeUndefined();
  });

  test('keeps empty nodes out of commands with other nodes', () => {
    const world = {
      pools: [protecting],
      nodes: [node('n0', large), node('n1', huge), node('n2', huge)],
      pods: [pod('web-1', 'n1', 1)],
    };
    expect(gone(run(world))).toEqual(['n1']);
  });
});

test.each<[string, string, string[]]>([
  ['moments ago', '2026-11-21T11:59:50Z', []],
  ['long ago', '2026-11-21T11:00:00Z', ['n0']],
])('pods are not moved to a node within its own consolidateAfter: %s', (_, lastPodEventTime, expected) => {
  const calm = pool('calm', { disruption: { consolidateAfter: '30s' } });
  const world = {
    pools: [pool('default'), calm],
    nodes: [
      node('n0', small),
      node('n1', large, {
        pool: 'calm',
        claim: { lastPodEventTime },
        annotations: { [annotations.doNotDisrupt]: 'true' },
      }),
    ],
    pods: [pod('web-0', 'n0', 1), pod('web-1', 'n1', 1)],
    types: [small, large],
  };
  expect(gone(run(world))).toEqual(expected);
});

describe('prices in consolidation rules', () => {
  const pods = [pod('web-0', 'n0', 1), pod('web-1', 'n1', 1)];

  // Rule `disruption-cost/price-of-a-node`.
  test.each<[string, NodeOptions, readonly string[]]>([
    ['known', {}, ['n0']],
    ['unknown for its zone', { zone: 'z' }, []],
    ['unknown for its capacity type', { capacityType: 'spot' }, []],
  ])('a non-empty node is removed where its price is %s', (_, options, expected) => {
    const world = {
      nodes: [node('n0', large, options), node('n1', large, { annotations: { [annotations.doNotDisrupt]: 'true' } })],
      pods,
      types: [large],
    };
    expect(gone(run(world))).toEqual(expected);
  });

  test('an empty node is removed whatever its price', () => {
    const world = { nodes: [node('n0', large, { zone: 'z' })], types: [large] };
    expect(run(world).commands).toMatchObject([{ method: 'empty', candidates: ['n0'], priceBefore: 0, priceAfter: 0 }]);
  });

  test('replacements together have to be cheaper, whichever offering each launch gets', () => {
    const apart = (on: string) => ({ spec: { ...apartBy(labels.hostname, 'web'), nodeName: on } });
    const two = [0, 1].map((i) => pod(`web-${i}`, `n${i}`, 1, apart(`n${i}`)));
    const nodes = [node('n0', large), node('n1', large)];
    const steep = type('steep', 2, 8, { 'a/on-demand': 0.1, 'b/on-demand': 0.3 });
    for (const { replacements, priceBefore } of run({ nodes, pods: two, types: [large, steep] }).commands) {
      const worst = replacements.map(({ requirements }) =>
        requirements.some(({ key, values }) => key === 'topology.kubernetes.io/zone' && values?.join() === 'a')
          ? 0.1
          : 0.3,
      );
      expect(worst.reduce((sum, price) => sum + price, 0)).toBeLessThan(priceBefore);
    }
  });

  // Rules `consolidation/spot-to-spot`, `consolidation/spot-beside-on-demand`.
  test('spot nodes alone are replaced by cheaper on-demand, not by spot', () => {
    const own = type('own', 4, 16, { 'a/spot': 0.5 });
    const cheaper = type('cheaper', 4, 16, { 'a/spot': 0.1, 'a/on-demand': 0.3 });
    const world = {
      nodes: [node('n0', own, { capacityType: 'spot' })],
      pods: [pod('web-0', 'n0', 3)],
      types: [own, cheaper],
    };
    expect(run(world).commands).toEqual([]);
    const onDemand = [
      pool('default', { requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }] }),
    ];
    expect(run({ ...world, pools: onDemand }).commands).toMatchObject([
      { decision: 'replace', replacements: [{ cheapest: { capacityType: 'on-demand', pricePerHour: 0.3 } }] },
    ]);
  });
});

test('removed nodes free limits, also those launched a command before', () => {
  const limited = pool('default');
  limited.spec.limits = { cpu: '34' };
  const nodes = [node('n0', huge), node('n1', huge)];
  const pods = [pod('web-0', 'n0', 1), pod('web-1', 'n1', 1)];
  const result = run({ pools: [limited], nodes, pods });
  expect(result.nodesAfter).toBe(1);
  expect(result.priceAfter).toBeCloseTo(0.1, 9);
});

// Rule `consolidation/parts-of-a-plan`.
test.each([
  { budget: '1', candidates: [] },
  { budget: '2', candidates: [['n0', 'n1'], ['n2']] },
])('a part of a plan stays within limits while the other nodes stay: $budget at a time', ({ budget, candidates }) => {
  const old = type('old', 4, 16, od(1));
  const limited = pool('default', { disruption: { budgets: [{ nodes: budget }] } });
  limited.spec.limits = { cpu: '12' };
  const nodes = ['n0', 'n1', 'n2'].map((name) => node(name, old));
  const pods = [0, 1, 2].map((i) => pod(`web-${i}`, `n${i}`, 2.5));
  const { commands } = run({ pools: [limited], nodes, pods, types: [old, type('wide', 8, 32, od(0.5))] });
  expect(commands.map((command) => command.candidates)).toEqual(candidates);
});

// Rule `limits/largest-type-counts`.
test('a replacement lists no type that would exceed what limits leave', () => {
  const limited = pool('default');
  limited.spec.limits = { cpu: '20' };
  const six = type('six', 6, 24, od(0.3));
  const nodes = [node('n0', huge), node('n1', huge, { annotations: { [annotations.doNotDisrupt]: 'true' } })];
  const pods = [pod('web-0', 'n0', 1), pod('web-1', 'n1', 15.5)];
  const { commands } = run({ pools: [limited], nodes, pods, types: [small, large, six, huge] });
  expect(commands.map(({ replacements }) => replacements[0]?.instanceTypes)).toEqual([['small', 'large']]);
});

test('every pod moves once where all nodes can be removed at once', () => {
  const nodes = Array.from({ length: 12 }, (_, i) => node(`n${i}`, i % 3 === 0 ? huge : large));
  const pods = nodes.flatMap((_, i) => [pod(`web-${i}`, `n${i}`, 1), pod(`api-${i}`, `n${i}`, 0.5)]);
  const { commands } = run({ nodes, pods });
  const moved = commands.flatMap(({ moves }) => moves.map((move) => move.pod));
  expect(moved.length).toBeGreaterThan(0);
  expect(new Set(moved).size).toBe(moved.length);
});

describe('how often a search plans the fleet', () => {
  const plans = (world: World): number => {
    const withoutEffect = jest.spyOn(Simulation.prototype, 'withoutEffect');
    try {
      expect(run(world).commands.length).toBeGreaterThan(0);
      return withoutEffect.mock.calls.length;
    } finally {
      withoutEffect.mockRestore();
    }
  };
  const nodes = [0, 1, 2, 3, 4].map((i) => node(`n${i}`, huge));
  const pods = nodes.map((_, i) => pod(`web-${i}`, `n${i}`, 1));

  test('once', () => {
    expect(plans({ nodes, pods })).toBe(1);
  });
});

import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import {
  apartBy,
  type,
  od,
  small,
  large,
  huge,
  pool,
  node,
  pod,
  input,
  now,
  type NodeOptions,
  type World,
} from '../../test/builders/consolidation.js';
import { near } from '../../test/builders/topology.js';
import { consolidateFleet, reconsiderNodes, whyStays } from './search.js';
import type { Consolidation, ConsolidationInput } from './types.js';

const run = (world: World, more: Partial<ConsolidationInput> = {}): Consolidation =>
  consolidateFleet({ ...input(world), ...more });
const gone = ({ commands }: Consolidation): string[] => commands.flatMap(({ candidates }) => candidates).sort();
/** At most one of them a node. */
const apart = (name: string, on: string): Pod =>
  pod(name, on, 1, { spec: { ...apartBy(labels.hostname, 'web'), nodeName: on } });
const numbered = (
  count: number,
  of: InstanceType,
  options?: NodeOptions,
): { nodes: Node[]; nodeClaims: NodeClaim[] }[] => Array.from({ length: count }, (_, i) => node(`n${i}`, of, options));

describe('a search with a deadline', () => {
  const world = { pools: [pool('default')], nodes: numbered(5, small) };

  test('returns the commands found by then, and says that it was cut short', () => {
    const whole = consolidateFleet(input(world));
    expect(gone(whole)).toHaveLength(5);
    expect(whole.cutShort).toBeUndefined();
    expect(consolidateFleet(input(world), () => true)).toMatchObject({ commands: [], cutShort: true });
  });
});

describe('budgets in a consolidation search', () => {
  test.each<[string, string, NodeOptions | undefined, number]>([
    ['30% of ten', '30%', undefined, 3],
    ['30% of ten, one not ready', '30%', { ready: false }, 2],
    ['5% of ten, rounded up', '5%', undefined, 1],
    ['a number', '4', undefined, 4],
    ['none', '0', undefined, 0],
  ])('%s limits one command', (_, nodes, last, expected) => {
    const all = [...numbered(9, small), node('n9', small, last)];
    const result = run(
      { pools: [pool('default', { disruption: { budgets: [{ nodes }] } })], nodes: all },
      { mostCommands: 1 },
    );
    expect(result.commands.flatMap(({ candidates }) => candidates)).toHaveLength(expected);
    if (expected > 0) expect(result.commands[0]).toMatchObject({ method: 'empty', decision: 'delete', moves: [] });
  });

  test('with reasons separate empty from underutilized nodes', () => {
    const budgets = [{ nodes: '0', reasons: ['Underutilized' as const] }, { nodes: '100%' }];
    const world = {
      pools: [pool('default', { disruption: { budgets } })],
      nodes: numbered(3, large),
      pods: [pod('web-0', 'n0', 1), pod('web-1', 'n1', 1)],
    };
    expect(gone(run(world))).toEqual(['n2']);
  });

  test('outside their schedule do not apply', () => {
    const budgets = [{ nodes: '0', schedule: '0 3 * * *', duration: '1h' }];
    expect(
      gone(run({ pools: [pool('default', { disruption: { budgets } })], nodes: numbered(2, small) })),
    ).toHaveLength(2);
  });
});

describe('budgets that let only some nodes go', () => {
  test('leave the nodes that may not go as places for pods (budgets/allowed-now)', () => {
    const kept = pool('kept', { disruption: { budgets: [{ nodes: '0', reasons: ['Underutilized'] }] } });
    const dear = type('dear', 16, 64, od(8));
    const nodes = [node('n0', large), node('k0', dear, { pool: 'kept' })];
    const pods = [pod('web-0', 'n0', 1), pod('web-1', 'k0', 1)];
    const { commands } = run({ pools: [pool('default'), kept], nodes, pods, types: [small, large, dear] });
    expect(commands).toMatchObject([{ candidates: ['n0'], decision: 'delete' }]);
  });

  test('let those go that save most (consolidation/parts-of-a-plan)', () => {
    // One of twelve nodes is not ready: one of eleven may go, then one of ten, and no other.
    const cheap = Array.from({ length: 8 }, (_, i) => `c${i}`);
    const base = type('base', 64, 256, od(0.01));
    const nodes = [
      node('base', base, { annotations: { [annotations.doNotDisrupt]: 'true' } }),
      node('unready', base, { ready: false, annotations: { [annotations.doNotDisrupt]: 'true' } }),
      ...['d0', 'd1'].map((name) => node(name, huge)),
      ...cheap.map((name) => node(name, small)),
    ];
    const pods = [
      ...['d0', 'd1'].flatMap((on) => Array.from({ length: 20 }, (_, i) => pod(`many-${on}-${i}`, on, 0.1))),
      ...cheap.map((on) => pod(`one-${on}`, on, 0.1)),
    ];
    const result = run({
      pools: [pool('default', { disruption: { budgets: [{ nodes: '10%' }] } })],
      nodes,
      pods,
      types: [small, huge, base],
    });
    expect(result.commands.flatMap(({ candidates }) => candidates).sort()).toEqual(['d0', 'd1']);
  });
});

describe('empty nodes in a consolidation search', () => {
  /** Spot of which nothing more can be bought: the pool asks for on-demand. */
  const bargain = type('bargain', 8, 32, { 'a/spot': 0.05, 'a/on-demand': 0.9 });
  const pools = [
    pool('default', { requirements: [{ key: labels.capacityType, operator: 'In', values: ['on-demand'] }] }),
  ];
  const full = ['n0', 'n1'].flatMap((name) => [pod(`${name}-a`, name, 2), pod(`${name}-b`, name, 2)]);

  test('take pods of dearer nodes where they are cheap for their size', () => {
    const nodes = [node('n0', large), node('n1', large), node('n2', bargain, { capacityType: 'spot' })];
    const result = run({ pools, nodes: [...nodes, node('n3', small)], pods: full, types: [small, large, bargain] });
    expect(gone(result)).toEqual(['n0', 'n1', 'n3']);
    expect(result.priceAfter).toBeCloseTo(0.05, 9);
  });

  test('that take no pods are removed in the end', () => {
    const budgets = [{ nodes: '0', reasons: ['Underutilized' as const] }, { nodes: '100%' }];
    const closed = pools.map((each) => ({
      ...each,
      spec: { ...each.spec, disruption: { ...each.spec.disruption, budgets } },
    }));
    const nodes = [node('n0', large), node('n1', large), node('n2', bargain, { capacityType: 'spot' })];
    expect(gone(run({ pools: closed, nodes, pods: full, types: [small, large, bargain] }))).toEqual(['n2']);
  });
});

describe('candidates of a consolidation search', () => {
  const guard = (name: string, allowed: number, more: object = {}): PodDisruptionBudget => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'web' } }, ...more },
    status: { disruptionsAllowed: allowed },
  });
  /** Two large nodes, each with one pod: one of them is enough. */
  const pair = (first: Partial<Pod> = {}, options: NodeOptions = {}): World => ({
    nodes: [node('n0', large, options), node('n1', large, options)],
    pods: [pod('web-0', 'n0', 1, first), pod('web-1', 'n1', 1, first)],
    types: [large],
  });
  const kept = { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } };

  // Rules `candidates/disruptable-nodes`, `consolidation/eligible-nodes`.
  test.each<[string, World, number]>([
    ['either of two, for one holds both', pair(), 1],
    ['none with a pod that is not to be disrupted', pair(kept), 0],
    ['none that is not to be disrupted itself', pair({}, { annotations: { [annotations.doNotDisrupt]: 'true' } }), 0],
    ['none that is not initialized', pair({}, { initialized: false }), 0],
    ['none whose pods a disruption budget holds', { ...pair(), budgets: [guard('web', 0)] }, 0],
    ['one where the disruption budget allows it', { ...pair(), budgets: [guard('web', 1)] }, 1],
    ['none under two disruption budgets', { ...pair(), budgets: [guard('web', 1), guard('again', 1)] }, 0],
    [
      'one where the budget lets unready pods go',
      { ...pair(), budgets: [guard('web', 0, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })] },
      1,
    ],
    [
      'none under WhenEmpty',
      { ...pair(), pools: [pool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } })] },
      0,
    ],
    [
      'none under consolidateAfter: Never',
      { ...pair(), pools: [pool('default', { disruption: { consolidateAfter: 'Never' } })] },
      0,
    ],
    ['none of a static pool', { ...pair(), pools: [pool('default', { replicas: 2 })] }, 0],
    [
      'none whose last pod came five seconds ago',
      {
        ...pair({}, { claim: { lastPodEventTime: '2026-11-21T11:59:55Z' } }),
        pools: [pool('default', { disruption: { consolidateAfter: '30s' } })],
      },
      0,
    ],
    ['none without a NodeClaim', { ...pair(), more: { nodeClaims: [] } }, 0],
  ])('%s', (_, world, expected) => {
    const result = run(world);
    expect(gone(result)).toHaveLength(expected);
    if (expected === 0) expect(result.held.map((each) => each.node)).toEqual(['n0', 'n1']);
  });

  test('exclude nodes of another disruption and nominated nodes', () => {
    expect(gone(run(pair(), { claimed: new Set(['uid-n0']) }))).toEqual(['n1']);
    expect(gone(run(pair(), { nominated: new Set(['n1']) }))).toEqual(['n0']);
  });

  // Rule `disruption-cost/of-a-node`.
  test('include nodes with pods of the lowest priority', () => {
    const world = pair({ spec: { priority: -(2 ** 31) } as Pod['spec'] });
    const policy = pool('default', { disruption: { consolidationPolicy: 'WhenEmpty' } });
    const [command] = run({
      ...world,
      pools: [policy],
      pods: [pod('web-0', 'n0', 1, { spec: { priority: -(2 ** 31) } }), pod('web-1', 'n1', 1)],
    }).commands;
    expect(command).toMatchObject({ method: 'empty', candidates: ['n0'], moves: [{ pod: 'default/web-0', to: 'n1' }] });
  });

  // Rules `consolidation/pods-without-weight`, `disruption-cost/of-a-pod`.
  test("include those also where such pods fit nowhere, or the node's price is unknown", () => {
    const low = { spec: { priority: -(2 ** 31) } };
    const pods = [pod('web-0', 'n0', 3, low), pod('web-1', 'n1', 3)];
    const world = { nodes: [node('n0', large), node('n1', large)], pods, types: [large] };

    const { commands } = run(world);
    expect(commands).toMatchObject([{ method: 'empty', decision: 'delete', candidates: ['n0'], moves: [] }]);
    expect(gone(run({ ...world, types: [small] }))).toEqual(['n0']);
  });

  // Rule `consolidation/pods-on-their-way-out`.
  test('ignore terminating pods of a Deployment, not those of a StatefulSet', () => {
    const terminating = (kind: string): Partial<Pod> => ({
      metadata: {
        deletionTimestamp: '2026-11-21T11:59:59Z',
        ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'x', uid: 'x' }],
      },
    });
    const world = (kind: string): World => ({
      nodes: [node('n0', large)],
      pods: [pod('web-0', 'n0', 1, terminating(kind))],
    });
    expect(gone(run(world('ReplicaSet')))).toEqual(['n0']);
    expect(gone(run(world('StatefulSet')))).toEqual([]);
  });
});

describe('targets of pods in a consolidation search', () => {
  // Rule `consolidation/room-on-starting-nodes`.
  test('exclude uninitialized nodes', () => {
    const nodes = [node('n0', large), node('n1', large, { initialized: false })];
    expect(run({ nodes, pods: [pod('web-0', 'n0', 3)], types: [large] }).commands).toEqual([]);
  });

  test('leave pending pods the room that they have', () => {
    const nodes = [node('n0', large), node('n1', large)];
    const pods = [pod('web-0', 'n0', 3), pod('web-1', 'n1', 1)];
    const waiting = pod('late-0', '', 1);
    expect(gone(run({ nodes, pods, types: [large] }))).toHaveLength(1);
    expect(gone(run({ nodes, pods: [...pods, waiting, pod('late-1', '', 3)], types: [large] }))).toEqual([]);
  });

  test('keep anti-affinity', () => {
    const world = { nodes: numbered(3, large), types: [large] };
    const pods = [apart('web-0', 'n0'), apart('web-1', 'n1'), pod('other-0', 'n2', 1)];
    const result = run({ ...world, pods });
    expect(gone(result)).toEqual(['n2']);
    expect(result.nodesAfter).toBe(2);
  });

  test('keep spread over zones', () => {
    const spread = {
      spec: {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: labels.zone,
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
      } as Partial<Pod['spec']>,
    };
    const both = type('large', 4, 16, { 'a/on-demand': 0.2, 'b/on-demand': 0.2 });
    const nodes = [node('n0', both), node('n1', both, { zone: 'b' })];
    const pods = [pod('web-0', 'n0', 1, spread), pod('web-1', 'n1', 1, spread)];
    expect(gone(run({ nodes, pods, types: [both] }))).toEqual([]);
  });
});

describe('replacements in a consolidation search', () => {
  test('an oversized node is replaced by a cheaper one', () => {
    const result = run({ nodes: [node('n0', huge)], pods: [pod('web-0', 'n0', 1)] });
    expect(result.commands).toMatchObject([
      {
        method: 'single',
        decision: 'replace',
        candidates: ['n0'],
        replacements: [{ cheapest: { instanceType: 'small', pricePerHour: 0.1 }, pods: ['default/web-0'] }],
        moves: [{ pod: 'default/web-0', to: 'replacement-0-0' }],
        priceBefore: 0.8,
        priceAfter: 0.1,
      },
    ]);
    expect(result.commands[0]!.replacements[0]!.instanceTypes).not.toContain('huge');
  });

  test('several nodes are replaced by several cheaper ones', () => {
    // Each pod needs a node of its own, for which a small one does.
    const result = run({ nodes: numbered(3, huge), pods: [0, 1, 2].map((i) => apart(`web-${i}`, `n${i}`)) });
    expect(result).toMatchObject({ nodesAfter: 3 });
    expect(result.priceAfter).toBeCloseTo(0.3, 9);
    expect(result.commands).toHaveLength(1);
    expect(result.commands[0]!.replacements).toHaveLength(3);
  });

  test.each([
    ['for a quarter less', 0.074, 2],
    ['not for a fifth less: pods cannot be directed to one of two equal nodes', 0.08, 0],
  ])('one node is replaced by two: %s', (_, price, expected) => {
    const half = type('half', 2, 8, { 'a/on-demand': price });
    const whole = type('whole', 4, 16, { 'a/on-demand': 0.2 });
    const world = { nodes: [node('n0', whole)], pods: [0, 1].map((i) => pod(`web-${i}`, 'n0', 1.5)) };
    const { commands } = run({ ...world, types: [half, whole] });
    expect(commands.flatMap(({ replacements }) => replacements)).toHaveLength(expected);
  });

  test.each([
    ['the dearer one by a little, whatever runs on it', 0, 'n0'],
    ['the one with few pods, where moving more is worth more than that', 0.1, 'n1'],
  ])('one of two nodes is removed: %s', (_, disruptionWeight, expected) => {
    const dearer = type('dearer', 4, 16, od(0.202));
    const world: World = {
      nodes: [node('n0', dearer), node('n1', large)],
      pods: [...[0, 1, 2, 3].map((i) => pod(`many-${i}`, 'n0', 0.5)), pod('one-0', 'n1', 2)],
      types: [dearer, large],
    };
    expect(gone(run(world, { disruptionWeight }))).toEqual([expected]);
  });

  test('a node that got pods by a recent move is replaced only for a large saving, and deleted as usual', () => {
    // 0.4 for 0.2 saves 0.2; the two nodes cost 0.6 on average.
    const tight = type('tight', 8, 32, od(0.4));
    const full = { annotations: { [annotations.doNotDisrupt]: 'true' } };
    const world = (cpus: number): World => ({
      nodes: [node('n0', tight), node('n1', huge, full)],
      pods: [pod('web-0', 'n0', 4), pod('full', 'n1', cpus)],
      types: [large, tight, huge],
    });
    const again = (leastAgainShare: number, movedTo: string): Partial<ConsolidationInput> => {
      return { leastAgainShare, movedTo: new Set([movedTo]) };
    };
    expect(gone(run(world(16), again(0.3, 'n0')))).toEqual(['n0']);
    expect(gone(run(world(16), again(0.4, 'n0')))).toEqual([]);
    expect(gone(run(world(16), again(0.4, 'n1')))).toEqual(['n0']);
    expect(gone(run(world(12), again(0.4, 'n0')))).toEqual(['n0']);
  });

  test('a replacement has to save the share of the fleet that its moved pods are worth', () => {
    // 0.2 for 0.18: a tenth for all pods.
    const leaner = type('leaner', 4, 16, od(0.18));
    const world = { nodes: [node('n0', large)], pods: [pod('web-0', 'n0', 3)], types: [large, leaner] };
    expect(gone(run(world, { disruptionWeight: 0.09 }))).toEqual(['n0']);
    expect(gone(run(world, { disruptionWeight: 0.11 }))).toEqual([]);
  });

  test('a cheap node with many pods stays although others have room for them', () => {
    const cheap = type('cheap', 4, 16, { 'a/on-demand': 0.01 });
    const held = { annotations: { [annotations.doNotDisrupt]: 'true' } };
    const pods = [0, 1, 2].map((i) => pod(`many-${i}`, 'n0', 0.5));
    const world = { nodes: [node('n0', cheap), node('n1', huge, held)], pods, types: [cheap, huge] };
    // All pods run on it, for an 81st of what the fleet costs.
    expect(gone(run(world, { disruptionWeight: 0.01 }))).toEqual(['n0']);
    expect(gone(run(world, { disruptionWeight: 0.02 }))).toEqual([]);
  });

  test('a small node is replaced by two only where that saves the required share of an average node', () => {
    // 0.4 for 0.2 saves 0.2; the two nodes cost 0.6 on average.
    const tight = type('tight', 8, 32, od(0.4));
    const world: World = {
      nodes: [node('n0', tight), node('n1', huge, { annotations: { [annotations.doNotDisrupt]: 'true' } })],
      pods: [pod('web-0', 'n0', 2), pod('web-1', 'n0', 2), pod('full', 'n1', 16)],
      types: [small, tight, huge],
    };
    expect(gone(run(world))).toEqual(['n0']);
    expect(gone(run(world, { leastSplitShare: 0.3 }))).toEqual(['n0']);
    expect(gone(run(world, { leastSplitShare: 0.4 }))).toEqual([]);
  });

  test('on-demand with cheaper spot is replaced by spot alone, so that no launch falls back to on-demand (consolidation/pinned-to-spot)', () => {
    const both = type('large', 4, 16, { 'a/on-demand': 0.2, 'a/spot': 0.06 });
    const result = run({ nodes: [node('n0', both)], pods: [pod('web-0', 'n0', 3)], types: [both] });
    const [replacement] = result.commands[0]!.replacements;
    expect(replacement).toMatchObject({ cheapest: { capacityType: 'spot', pricePerHour: 0.06 } });
    expect(replacement!.requirements).toContainEqual({ key: labels.capacityType, operator: 'In', values: ['spot'] });
  });

  // Rule `consolidation/no-dearer-launch`.
  test('a type whose dearest zone is no cheaper is excluded', () => {
    const pricey = type('small', 2, 8, { 'a/spot': 0.05, 'b/spot': 0.3 });
    const world = { nodes: [node('n0', large)], pods: [pod('web-0', 'n0', 1)] };
    expect(run({ ...world, types: [large, pricey] }).commands).toEqual([]);
    const even = type('small', 2, 8, { 'a/spot': 0.05, 'b/spot': 0.19 });
    expect(run({ ...world, types: [large, even] }).commands).toHaveLength(1);
  });

  test.each<[string, number, boolean, number | undefined]>([
    ['not unless asked for', 15, false, undefined],
    ['not from 14 cheaper types', 14, true, undefined],
    ['from 15, which are all that is requested', 16, true, 15],
  ])('spot is replaced by spot: %s (consolidation/spot-to-spot)', (_, cheaper, spotToSpot, expected) => {
    const types = [
      type('own', 4, 16, { 'a/spot': 0.5 }),
      ...Array.from({ length: cheaper }, (_each, i) =>
        type(`t${String(i).padStart(2, '0')}`, 4, 16, { 'a/spot': 0.1 + i / 1000 }),
      ),
    ];
    const nodes = [node('n0', types[0]!, { capacityType: 'spot' })];
    const result = run({ nodes, pods: [pod('web-0', 'n0', 3)], types }, { spotToSpot });
    expect(result.commands[0]?.replacements[0]?.instanceTypes.length).toBe(expected);
  });

  test.each<[string, number, boolean, string | undefined]>([
    ['not asked for', 15, false, 'a spot node is replaced by spot only with feature gate SpotToSpotConsolidation'],
    [
      'too few types',
      14,
      true,
      'a spot node is replaced by spot only if at least 15 cheaper instance types can be used, and there are 14',
    ],
    ['enough types', 15, true, undefined],
    ['nothing cheaper', 0, true, 'there is no cheaper place for its pods'],
  ])('the reason why a spot node stays: %s (consolidation/spot-to-spot)', (_, cheaper, spotToSpot, expected) => {
    const types = [
      type('own', 4, 16, { 'a/spot': 0.5 }),
      ...Array.from({ length: cheaper }, (_each, i) => type(`t${i}`, 4, 16, { 'a/spot': 0.1 + i / 1000 })),
    ];
    const nodes = [node('n0', types[0]!, { capacityType: 'spot' })];
    const world = { nodes, pods: [pod('web-0', 'n0', 3)], types };
    expect(whyStays({ ...input(world), spotToSpot }, 'n0')).toBe(expected);
  });

  // Rule `min-values/at-replacement`.
  describe('minValues of replacements in a search', () => {
    const family = 'example.com/family';
    const asking = (key: string, minValues: number) => [
      pool('default', { requirements: [{ key, operator: 'Exists', minValues }] }),
    ];
    const ofFamily = (each: InstanceType, value: string): InstanceType => ({
      ...each,
      requirements: [...each.requirements, { key: family, operator: 'In', values: [value] }],
    });
    const own = type('own', 4, 16, { 'a/spot': 0.5 });
    const nodes = [node('n0', own, { capacityType: 'spot' })];
    const pods = [pod('web-0', 'n0', 3)];
    const twenty = Array.from({ length: 20 }, (_, i) =>
      ofFamily(
        type(`t${String(i).padStart(2, '0')}`, 4, 16, { 'a/spot': 0.1 + i / 1000 }),
        i < 15 ? 'x' : i < 17 ? 'y' : 'z',
      ),
    );

    test.each<[string, string, number, number]>([
      ['16 types', labels.instanceType, 16, 16],
      ['three families, of which the fifteen cheapest types are one', family, 3, 18],
      ['two types', labels.instanceType, 2, 15],
    ])('spot for spot lists as many types as give %s', (_, key, minValues, expected) => {
      const world = { pools: asking(key, minValues), nodes, pods, types: [ofFamily(own, 'x'), ...twenty] };
      const [command] = run(world, { spotToSpot: true }).commands;
      expect(command?.replacements[0]?.instanceTypes).toHaveLength(expected);
      const said = command?.replacements[0]?.requirements.find((each) => each.key === key);
      expect(said).toEqual({ key, operator: 'Exists', minValues });
    });

    test.each<[string, InstanceType[], string[]]>([
      ['one is cheaper, of two that hold the pods', [large, type('cheaper', 4, 16, od(0.1))], []],
      ['two are', [large, type('cheaper', 4, 16, od(0.1)), type('cheap', 4, 16, od(0.11))], ['n0']],
    ])('BestEffort requires as many values as exist: %s', (_, types, expected) => {
      const world = {
        pools: asking(labels.instanceType, types.length === 2 ? 3 : 2),
        nodes: [node('n0', large)],
        pods,
        types,
      };
      const settings = { ...input(world).settings, minValuesPolicy: 'BestEffort' as const };
      expect(gone(run(world, { settings }))).toEqual(expected);
    });
  });

  test("where a candidate's type could be launched, only what is cheaper than it is allowed (consolidation/same-type)", () => {
    const own = type('own', 4, 16, od(0.2));
    const cheaper = type('cheaper', 4, 16, od(0.15));
    const dearer = type('dearer', 4, 16, od(0.3));
    // Nodes report a little less than their type promises: both pods fit on a new one only.
    const node4 = { ...own, capacity: { ...own.capacity, cpu: 3920 } };
    const world = {
      nodes: numbered(2, node4),
      pods: [pod('web-0', 'n0', 1.99), pod('web-1', 'n1', 1.99)],
    };
    const [command, ...others] = run({ ...world, types: [own, cheaper, dearer] }).commands;
    expect(command).toMatchObject({ candidates: ['n0', 'n1'], replacements: [{ instanceTypes: ['cheaper'] }] });
    expect(others).toEqual([]);
    // Two for one of their own type would do, and save half, but then it equals a node that is launched and removed again.
    expect(run({ ...world, types: [own, dearer] }).commands).toEqual([]);
  });

  test('no node is replaced by its own type at its own price', () => {
    // Two full large nodes could only become two large nodes.
    const pods = [0, 1].map((i) => pod(`web-${i}`, `n${i}`, 4));
    expect(run({ nodes: numbered(2, large), pods, types: [large] }).commands).toEqual([]);
  });

  test('replacements are sized for the pods of many nodes, within the budget of each command', () => {
    const nodes = numbered(8, huge);
    const pods = nodes.map((_, i) => pod(`web-${i}`, `n${i}`, 2));
    const result = run({ pools: [pool('default', { disruption: { budgets: [{ nodes: '2' }] } })], nodes, pods });
    expect(result.priceAfter).toBeLessThan(0.8 + 1e-9);
    expect(Math.max(...result.commands.map(({ candidates }) => candidates.length))).toBeLessThanOrEqual(2);
    const moved = result.commands.flatMap(({ moves }) => moves.map((move) => move.pod));
    expect(new Set(moved).size).toBe(moved.length);
  });
});

describe('validating a command', () => {
  const medium = type('medium', 6, 24, od(0.35));
  const world: World = {
    nodes: [node('n0', huge)],
    pods: [0, 1, 2].map((i) => pod(`web-${i}`, 'n0', 2)),
    types: [small, medium, huge],
  };
  const launched = (more: Partial<ConsolidationInput>, candidates = ['n0']): string[] | undefined =>
    reconsiderNodes({ ...input(world), ...more }, candidates)?.replacements.map(
      ({ cheapest }) => cheapest.instanceType,
    );

  test('gives what is cheapest now', () => {
    expect(launched({})).toEqual(['small', 'small', 'small']);
  });

  test('passes with the recorded number of replacements, though more would be cheaper', () => {
    expect(launched({ mostReplacements: 1 })).toEqual(['medium']);
    expect(launched({ mostReplacements: 3 })).toEqual(['small', 'small', 'small']);
  });

  test('passes without a replacement where the launched one exists', () => {
    const there = { ...world, nodes: [...world.nodes, node('n1', medium)] };
    const again = reconsiderNodes({ ...input(there), mostReplacements: 0 }, ['n0']);
    expect(again).toMatchObject({ decision: 'delete', replacements: [] });
    expect(again?.moves.map(({ to }) => to)).toEqual(['n1', 'n1', 'n1']);
  });

  describe('as it was recorded', () => {
    // Three pods fit a half, for 0.28; all nine a bulk, for 0.75.
    const half = type('half', 6, 24, od(0.28));
    const bulk = (price: number): InstanceType => type('bulk', 18, 72, od(price));
    const pods = Array.from({ length: 9 }, (_, i) => pod(`web-${i}`, i < 3 ? 'n0' : 'n1', 2));
    const fleet = (types: readonly InstanceType[], more: Partial<World> = {}): World => ({
      nodes: numbered(2, huge),
      pods,
      types,
      ...more,
    });
    const all = fleet([half, bulk(0.75), huge]);
    // The part of the command for both that concerns one of them.
    const both = run(all, { mostCommands: 1 }).commands[0]!;
    const first = { ...both, candidates: both.candidates.slice(0, 1) };
    const again = (then: World): readonly string[] | undefined =>
      reconsiderNodes({ ...input(then), decided: first.replacements }, first.candidates)?.replacements.map(
        ({ cheapest }) => cheapest.instanceType,
      );

    test('passes where the cheapest fleet does the same with the node, which alone would be handled otherwise', () => {
      expect(first.replacements.map(({ cheapest }) => cheapest.instanceType)).toEqual(['bulk']);
      expect(again(all)).toEqual(['bulk']);
      const alone = reconsiderNodes({ ...input(all), mostReplacements: 1 }, first.candidates);
      expect(alone?.replacements.map(({ cheapest }) => cheapest.instanceType)).toEqual(['half']);
    });

    test('fails where a recorded type is no longer offered, or saves nothing', () => {
      expect(first.replacements[0]?.instanceTypes).toContain('bulk');
      expect(again(fleet([half, huge]))).toBeUndefined();
      expect(again(fleet([half, bulk(0.76), huge]))).toEqual(['bulk']);
      expect(again(fleet([half, bulk(1.1), huge]))).toBeUndefined();
    });

    test('fails where a new pod fits nowhere', () => {
      const node0 = first.candidates[0]!;
      expect(again(fleet([half, bulk(0.75), huge], { pods: [...pods, pod('late', node0, 15)] }))).toBeUndefined();
    });
  });

  describe('with pods that could each take the only place of another', () => {
    /** Room for a pod of 1 CPU is on n1 alone, room for one of half a CPU on both; pods with affinity are placed last. */
    const kept = (name: string, at: string, cpu: number): Pod =>
      pod(name, at, cpu, { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });
    const tight: World = {
      nodes: numbered(3, small),
      pods: [
        pod('affine', 'n0', 1, { spec: near('mate') }),
        pod('half', 'n0', 0.5),
        kept('mate', 'n1', 0.8),
        kept('other', 'n2', 1.1),
      ],
    };
    const moves = [
      { pod: 'default/affine', to: 'n1' },
      { pod: 'default/half', to: 'n2' },
    ];
    const again = (more: Partial<ConsolidationInput>, there = tight) =>
      reconsiderNodes({ ...input(there), mostReplacements: 0, ...more }, ['n0'])?.moves;

    test('passes as recorded, by Node or by NodeClaim', () => {
      expect(run(tight).commands).toMatchObject([{ candidates: ['n0'], moves }]);
      expect(again({ decided: [], decidedMoves: moves })).toEqual(moves);
      const byClaim = moves.map(({ pod: name, to }) => ({ pod: name, to: `claim-${to}` }));
      expect(again({ decided: [], decidedMoves: byClaim })).toEqual(moves);
    });

    test('is searched again where the record lacks targets, or names nodes and pods that are gone', () => {
      expect(again({})).toEqual(moves);
      const gone = [{ pod: 'default/gone', to: 'n1' }, { pod: 'default/affine', to: 'gone' }, moves[1]!]; // prettier-ignore
      expect(again({ decided: [], decidedMoves: gone })).toEqual(moves);
    });

    test('fails where another pod has taken the place', () => {
      const late = { ...tight, pods: [...(tight.pods ?? []), kept('late', 'n1', 0.5)] };
      expect(again({ decided: [], decidedMoves: moves }, late)).toBeUndefined();
    });
  });

  test('gives more replacements where fewer are not possible', () => {
    expect(launched({ mostReplacements: 0 })).toEqual(['small', 'small', 'small']);
  });

  test('keeps the node that several commands of a plan share', () => {
    const nodes = numbered(8, huge);
    const pods = nodes.map((_, i) => pod(`web-${i}`, `n${i}`, 2));
    const all = { pools: [pool('default', { disruption: { budgets: [{ nodes: '2' }] } })], nodes, pods };
    const first = run(all, { mostCommands: 1 }).commands[0]!;
    const again = reconsiderNodes({ ...input(all), mostReplacements: first.replacements.length }, first.candidates);
    expect(again?.replacements.length).toBeLessThanOrEqual(first.replacements.length);
  });
});

describe('nodes that are consolidatable soon', () => {
  test('are included in the plan from the given time on', () => {
    const lastPodEventTime = new Date(now - 20_000).toISOString();
    const after = pool('default', { disruption: { consolidateAfter: '30s' } });
    const world: World = { pools: [after], nodes: [node('n0', large, { claim: { lastPodEventTime } })] };
    expect(gone(run(world))).toEqual([]);
    expect(gone(run(world, { consolidatableBy: now + 9999 }))).toEqual([]);
    expect(gone(run(world, { consolidatableBy: now + 10_000 }))).toEqual(['n0']);
  });
});

test('pods give up a preference that only a new node would meet where the limits of their NodePool allow none', () => {
  const affinity = {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 10,
          podAffinityTerm: { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: labels.hostname },
        },
      ],
    },
  };
  const web = (name: string, on: string): Pod => pod(name, on, 0.5, { spec: { affinity } });
  const left = (limits: Record<string, string>) => {
    const limited = pool('default');
    limited.spec.limits = limits;
    const nodes = [node('n0', small), node('n1', small)];
    return run({ pools: [limited], nodes, pods: [web('web-0', 'n0'), web('web-1', 'n1')] }).nodesAfter;
  };
  expect([left({}), left({ nodes: '3' }), left({ nodes: '1' })]).toEqual([2, 2, 1]);
});

describe('NodePools whose limits have no room', () => {
  // The heavier NodePool would launch what pods need (scheduling/heaviest-pool-first).
  const resultWith = (limits: Record<string, string>) => {
    const [heavy, light] = [pool('heavy'), pool('light')];
    heavy.spec.weight = 10;
    heavy.spec.limits = limits;
    const nodes = [node('n0', huge, { pool: 'light' }), node('n1', huge, { pool: 'light' })];
    const pods = ['n0', 'n1'].map((on) => pod(`web-${on}`, on, 1.9));
    return run({ pools: [heavy, light], nodes, pods, types: [small, huge] });
  };
  const poolsOf = ({ commands }: Consolidation) =>
    commands.flatMap(({ replacements }) => replacements.map(({ nodePool }) => nodePool));

  test.each<[string, Record<string, string>, string[]]>([
    ['launch no replacements, lighter ones do', { cpu: '0' }, ['light', 'light']],
    ['for all pods leave some to lighter ones', { nodes: '1' }, ['heavy', 'light']],
    ['unless they have', { nodes: '2' }, ['heavy', 'heavy']],
  ])('%s', (_, limits, expected) => {
    const result = resultWith(limits);
    expect(result.priceAfter).toBeCloseTo(0.2, 9);
    expect(poolsOf(result)).toEqual(expected);
  });
});

describe('unrelated NodePools in a search', () => {
  const narrow = type('narrow', 2, 16, od(0.126));
  const wide = type('wide', 4, 16, od(0.17));
  const only = (...types: string[]) => [{ key: labels.instanceType, operator: 'In' as const, values: types }];
  const poolsOf = (...mayWiden: string[]) =>
    ['x', 'y', 'z'].map((name) =>
      pool(name, { requirements: mayWiden.includes(name) ? only('narrow', 'wide') : only('narrow') }),
    );
  // Two nodes each, side by side in no order of names or savings.
  const names = ['x', 'y', 'x', 'z', 'y', 'z'];
  const nodes = names.map((own, i) => node(`n${i}`, narrow, { pool: own }));
  const pods = names.map((own, i) =>
    pod(`web-${i}`, `n${i}`, 1.2, { spec: { nodeSelector: { [labels.nodePool]: own } } }),
  );
  const pairs = (mayWiden: string[]): string[] =>
    run({ pools: poolsOf(...mayWiden), nodes, pods, types: [narrow, wide] }).commands.map(({ candidates }) =>
      candidates.join('+'),
    );

  test('each saves though others cannot', () => {
    expect(pairs(['x'])).toEqual(['n0+n2']);
    expect(pairs(['y'])).toEqual(['n1+n4']);
    expect(pairs(['z'])).toEqual(['n3+n5']);
  });

  test('commands that save take no candidates along that do not', () => {
    expect(pairs(['x', 'y']).sort()).toEqual(['n0+n2', 'n1+n4']);
  });
});

test('two yellow and three red pods on two nodes end on one cheaper node', () => {
  const types = [type('c.4x8', 4, 8, od(0.17)), type('r.2x16', 2, 16, od(0.13)), type('m.5x20', 5, 20, od(0.22))];
  const sized = (name: string, on: string, memory: string): Pod =>
    pod(name, on, 1, {
      spec: { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '1', memory } } }] },
    });
  const pods = [
    sized('yellow-0', 'n0', '1Gi'),
    sized('yellow-1', 'n0', '1Gi'),
    sized('red-0', 'n0', '6Gi'),
    sized('red-1', 'n1', '6Gi'),
    sized('red-2', 'n1', '6Gi'),
  ];
  const world = { nodes: [node('n0', types[0]!), node('n1', types[1]!)], pods, types };
  const { commands, nodesAfter, priceAfter } = run(world);
  expect({ nodesAfter, priceAfter }).toEqual({ nodesAfter: 1, priceAfter: 0.22 });
  expect(commands).toHaveLength(1);
  expect(commands[0]).toMatchObject({
    method: 'multi',
    decision: 'replace',
    replacements: [{ cheapest: { instanceType: 'm.5x20' } }],
  });
  expect(commands[0]!.moves.map(({ to }) => to)).toEqual(new Array(5).fill('replacement-0-0'));
  // Where the larger node is no cheaper nothing moves.
  expect(run({ ...world, types: [...types.slice(0, 2), type('m.5x20', 5, 20, od(0.31))] }).commands).toEqual([]);
});

test("one replacement for all where several cheaper ones would be of a candidate's type (consolidation/several-nodes)", () => {
  const wide = type('wide', 4, 8, od(0.17));
  const tall = type('tall', 2, 16, od(0.126));
  const big = type('big', 8, 32, od(0.3));
  // Nodes report a little less than their types promise: two pods fit on a new one only.
  const less = (of: InstanceType): InstanceType => ({
    ...of,
    capacity: { ...of.capacity, cpu: (of.capacity['cpu'] ?? 0) - 80, memory: (of.capacity['memory'] ?? 0) - 2 ** 30 },
  });
  const sized = (name: string, on: string, memory: string): Pod =>
    pod(name, on, 1, { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1', memory } } }] } });
  const world: World = {
    nodes: [node('n0', less(wide)), ...[1, 2, 3].map((i) => node(`n${i}`, less(tall)))],
    pods: [
      sized('yellow-0', 'n0', '1Gi'),
      sized('yellow-1', 'n0', '1Gi'),
      ...[1, 2, 3].map((i) => sized(`red-${i}`, `n${i}`, '6Gi')),
    ],
    types: [wide, tall, big],
  };

  const result = run(world);

  expect(result.commands.map(({ candidates, replacements }) => [candidates.length, replacements.length])).toEqual([
    [4, 1],
  ]);
  expect(result.priceAfter).toBeCloseTo(0.3);
});

describe('consolidationPolicy Balanced in a search', () => {
  /** Deleting n0 saves `price` of 1, and disrupts `pods` of the pool's pods. */
  const world = (price: number, podsOnFirst: number, podsOnSecond: number): World => {
    const first = type('first', 64, 256, od(price));
    const second = type('second', 64, 256, od(1 - price));
    return {
      pools: [pool('default', { disruption: { consolidationPolicy: 'Balanced' } })],
      nodes: [node('n0', first), node('n1', second, { annotations: { [annotations.doNotDisrupt]: 'true' } })],
      pods: [
        ...Array.from({ length: podsOnFirst }, (_, i) => pod(`a-${i}`, 'n0', 0.1)),
        ...Array.from({ length: podsOnSecond }, (_, i) => pod(`b-${i}`, 'n1', 0.1)),
      ],
      types: [first, second],
    };
  };

  // Of 100 in all, disruption cost 50 on either side: the score is the share saved over one half.
  test.each<[string, number, string[]]>([
    ['0.49', 0.245, []],
    ['0.5', 0.25, ['n0']],
  ])('a command that scores %s (consolidation/balanced)', (_, price, expected) => {
    expect(gone(run(world(price, 49, 49)))).toEqual(expected);
  });
});

// Karpenter looks at the first hundred, and gives up after a minute: what comes last may never be reached.
// Rule `consolidation/all-nodes-are-considered`.
test('the least valuable of hundreds of nodes is considered in the same search', () => {
  const crumb = type('crumb', 2, 8, od(0.001));
  const spare = node('spare', huge, { annotations: { [annotations.doNotDisrupt]: 'true' } });
  const full = numbered(300, large);
  const world: World = {
    nodes: [...full, node('tail', crumb), spare],
    pods: [
      ...full.map((_, i) => pod(`full-${i}`, `n${i}`, 4)),
      // Of all nodes it costs the most to disturb for what it saves.
      ...Array.from({ length: 19 }, (_, i) => pod(`crumb-${i}`, 'tail', 0.1, { spec: { priority: 1_000_000 } })),
      pod('kept-0', 'spare', 14),
    ],
    types: [large, crumb, huge],
  };

  const [command, ...others] = run(world).commands;

  expect(command).toMatchObject({ decision: 'delete', candidates: ['tail'] });
  expect(others).toEqual([]);
  expect(command?.moves).toHaveLength(19);
});

test('equal input gives equal commands, in any order of objects', () => {
  const nodes = numbered(6, large);
  const pods = nodes.map((_, i) => pod(`web-${i}`, `n${i}`, 1));
  const result = run({ nodes, pods });
  expect(run({ nodes: [...nodes].reverse(), pods: [...pods].reverse() })).toEqual(result);
  expect(result.commands.length).toBeGreaterThan(0);
});

test('pods that must share the node of a smaller pod are replaced together with it', () => {
  const besideApp = (app: string): Partial<Pod['spec']> => ({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app } }, topologyKey: 'kubernetes.io/hostname' },
        ],
      },
    },
  });
  const { commands } = consolidateFleet(
    input({
      nodes: [node('n0', huge)],
      pods: [
        pod('follower-0', 'n0', 2, { spec: besideApp('leader') }),
        pod('leader-0', 'n0', 1, { spec: besideApp('leader') }),
      ],
    }),
  );
  expect(commands.map(({ replacements }) => replacements.map(({ cheapest }) => cheapest.instanceType))).toEqual([
    ['large'],
  ]);
});

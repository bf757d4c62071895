import { describe, expect, test } from '@jest/globals';
import type { CapacityBuffer } from '../../api/autoscaling/capacity-buffer.js';
import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import {
  instanceType,
  node,
  offering,
  packingInput,
  pod,
  podsOf,
  pool,
  type PodOptions,
  sizes,
  zonesOf,
} from '../../test/builders/packing-fixtures.js';
import { applyOverlays } from '../compile/overlays.js';
import { shareOut } from '../place/spot-share.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const capacityTypes = (result: Plan): string[] =>
  result.newNodeClaims.map(({ cheapest }) => cheapest.capacityType).sort();

describe('reserved capacity', () => {
  const reservationKey = 'karpenter.k8s.aws/capacity-reservation-id';
  const reserved = (id: string, reservationCapacity: number) => {
    const base = offering('zone-a', 'reserved', 0.0001, { reservationCapacity });
    return {
      ...base,
      requirements: [...base.requirements, { key: reservationKey, operator: 'In' as const, values: [id] }],
    };
  };
  const types = [
    instanceType('m4', { cpu: 4, offerings: [offering('zone-a', 'on-demand', 0.4), reserved('cr-1', 1)] }),
  ];
  const wellKnownLabels = [reservationKey];

  test('one of two nodes is reserved, the other on-demand in the same pass (reserved-capacity/overflow, reserved-capacity/pinned)', () => {
    const result = plan(packingInput({ pods: podsOf(2, 'p', { cpu: '3' }) }, { types, settings: { wellKnownLabels } }));
    expect(capacityTypes(result)).toEqual(['on-demand', 'reserved']);
    const claim = result.newNodeClaims.find(({ cheapest }) => cheapest.capacityType === 'reserved');
    expect(claim?.requirements).toContainEqual({ key: labels.capacityType, operator: 'In', values: ['reserved'] });
    expect(claim?.requirements).toContainEqual({ key: reservationKey, operator: 'In', values: ['cr-1'] });
  });

  test('a reservation without a count has nothing free', () => {
    const uncounted = [instanceType('m4', { cpu: 4, offerings: [offering('zone-a', 'on-demand', 0.4), offering('zone-a', 'reserved', 0.0001)] })]; // prettier-ignore
    const result = plan(packingInput({ pods: podsOf(2, 'p', { cpu: '3' }) }, { types: uncounted }));
    expect(result.newNodeClaims.map(({ cheapest }) => cheapest.capacityType)).toEqual(['on-demand', 'on-demand']);
  });

  // Rule `min-values/strict-and-best-effort`: a claim on a reservation lists the types of that reservation alone.
  test.each([
    ['Strict', 2, ['on-demand', 'on-demand'], []],
    ['Strict', 1, ['on-demand', 'reserved'], []],
    ['BestEffort', 2, ['on-demand', 'reserved'], ['reserved']],
  ] as const)('under %s with minValues %i of the instance type', (minValuesPolicy, minValues, bought, relaxed) => {
    const others = [0.5, 0.6].map((price) => instanceType(`n${price}`, { cpu: 4, offerings: [offering('zone-a', 'on-demand', price)] })); // prettier-ignore
    const nodePools = [
      pool('default', { requirements: [{ key: labels.instanceType, operator: 'Exists', minValues }] }),
    ];
    const input = { pods: podsOf(2, 'p', { cpu: '3' }), nodePools };
    const options = { types: [...types, ...others], settings: { wellKnownLabels, minValuesPolicy } };
    const result = plan(packingInput(input, options));
    expect([result.unschedulable, capacityTypes(result)]).toEqual([[], bought]);
    const marked = result.newNodeClaims.filter((claim) => claim.annotations[annotations.minValuesRelaxed] === 'true');
    expect(marked.map(({ cheapest }) => cheapest.capacityType)).toEqual(relaxed);
  });

  /** A type of which so many instances are reserved, by reservation, beside what can be bought. */
  const typeOf = (name: string, cpu: number, counts: Readonly<Record<string, number>>, zone = 'zone-a') =>
    instanceType(name, {
      cpu,
      offerings: [
        offering(zone, 'on-demand', cpu / 10),
        ...Object.entries(counts).map(([id, count]) => ({
          ...reserved(id, count),
          requirements: reserved(id, count).requirements.map((each) =>
            each.key === labels.zone ? { ...each, values: [zone] } : each,
          ),
        })),
      ],
    });
  const alone: PodOptions = {
    labels: { app: 'x' },
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: 'x' } }, topologyKey: labels.hostname },
        ],
      },
    },
  };

  test.each<[string, ReturnType<typeof typeOf>[], Pod[], (string | readonly string[])[]]>([
    ['another of the type', [typeOf('m4', 4, { 'cr-1': 1, 'cr-2': 1 })], [pod('p')], [['cr-1', 'cr-2']]],
    ['another type', [typeOf('m4', 4, { 'cr-1': 1 }), typeOf('m8', 8, { 'cr-2': 1 })], [pod('p')], [['cr-1', 'cr-2']]],
    [
      'one whose type is too small',
      [typeOf('m2', 2, { 'cr-2': 1 }), typeOf('m4', 4, { 'cr-1': 1 })],
      [pod('p', { cpu: '3' })],
      [['cr-1']],
    ],
    ['one that is used up', [typeOf('m4', 4, { 'cr-1': 1, 'cr-2': 0 })], [pod('p')], [['cr-1']]],
    [
      'one in another zone',
      [typeOf('m4', 4, { 'cr-1': 1 }), typeOf('n4', 4, { 'cr-2': 1 }, 'zone-b')],
      [pod('p')],
      [['cr-1', 'cr-2']],
    ],
    [
      'one in a zone that the pod does not want',
      [typeOf('m4', 4, { 'cr-1': 1 }), typeOf('n4', 4, { 'cr-2': 1 }, 'zone-b')],
      [pod('p', { nodeSelector: { [labels.zone]: 'zone-a' } })],
      [['cr-1']],
    ],
    [
      'one that the pod asks for by its id',
      [typeOf('m4', 4, { 'cr-1': 1, 'cr-2': 1 })],
      [pod('p', { nodeSelector: { [reservationKey]: 'cr-2' } })],
      [['cr-2']],
    ],
    [
      'one that another claim needs',
      [typeOf('m4', 4, { 'cr-1': 1, 'cr-2': 1 })],
      ['a', 'b'].map((name) => pod(name, alone)),
      [['cr-1'], ['cr-2']],
    ],
    [
      'one for two claims',
      [typeOf('m4', 4, { 'cr-1': 2, 'cr-2': 1 })],
      ['a', 'b'].map((name) => pod(name, alone)),
      [['cr-1'], ['cr-1', 'cr-2']],
    ],
  ])(
    'a claim may list other reservations with free capacity: %s (reserved-capacity/fallbacks)',
    (_, types, pods, expected) => {
      const result = plan(packingInput({ pods }, { types, settings: { wellKnownLabels } }));
      const ids = result.newNodeClaims.map(
        ({ requirements }) => requirements.find(({ key }) => key === reservationKey)?.values,
      );
      expect(result.unschedulable).toEqual([]);
      expect(ids.sort((a, b) => a!.length - b!.length || compareText(a!.join(), b!.join()))).toEqual(expected);
    },
  );

  test('two NodePools do not use the same reservation twice; the lowest reported count holds (reserved-capacity/counters)', () => {
    const other = [
      instanceType('m4', { cpu: 4, offerings: [offering('zone-a', 'on-demand', 0.4), reserved('cr-1', 2)] }),
    ];
    const nodePools = [pool('a', { labels: { team: 'a' } }), pool('b', { labels: { team: 'b' } })];
    const catalogues = new Map([
      ['a', types],
      ['b', other],
    ]);
    const pods = ['a', 'b'].map((team) => pod(team, { cpu: '3', nodeSelector: { team } }));
    const result = plan(packingInput({ pods, nodePools }, { catalogues, settings: { wellKnownLabels } }));
    expect(capacityTypes(result)).toEqual(['on-demand', 'reserved']);
  });
});

// Rule `node-overlays/spec`.
describe('price overlays', () => {
  const overlay = (name: string, spec: Partial<NodeOverlay['spec']>): NodeOverlay => ({
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name },
    spec: { requirements: [], ...spec },
  });
  const only = (type: string) => [{ key: labels.instanceType, operator: 'In' as const, values: [type] }];
  const two = [instanceType('a', { cpu: 4, price: 1, spot: 0 }), instanceType('b', { cpu: 4, price: 2, spot: 0 })];
  const run = (...nodeOverlays: NodeOverlay[]) => {
    const [claim] = plan(packingInput({ pods: [pod('p')], nodeOverlays }, { types: two })).newNodeClaims;
    return { type: claim!.cheapest.instanceType, price: claim!.cheapest.pricePerHour, marks: claim!.annotations };
  };

  test.each([
    ['a price', { price: '0.5' }, 0.5],
    ['an amount less', { priceAdjustment: '-1.6' }, 0.4],
    ['a share less', { priceAdjustment: '-80%' }, 0.4],
    ['never below zero', { priceAdjustment: '-5' }, 0],
  ])('%s', (_, spec, price) => {
    const result = run(overlay('o', { requirements: only('b'), ...spec }));
    expect(result.type).toBe('b');
    expect(result.price).toBeCloseTo(price, 9);
    expect(result.marks).toEqual({ [annotations.priceOverlayApplied]: 'true' });
  });

  // Rules `node-overlays/heaviest-first`, `node-overlays/conflicts`.
  test('the heavier price overlay applies; of equal weight the later one is refused whole', () => {
    const light = overlay('light', { requirements: only('b'), price: '0.1' });
    const heavy = overlay('heavy', { requirements: only('b'), price: '5', weight: 10 });
    expect(run(light, heavy).type).toBe('a');
    const equal = overlay('zzz', { price: '0.3' });
    const { conflicts } = applyOverlays([pool()], new Map([['default', two]]), [light, equal]);
    expect([...conflicts.keys()]).toEqual(['light']);
  });

  // Rule `node-overlays/price-for-the-unpriced`.
  test('a type without a price is offered at the price of an overlay that names it', () => {
    const [a, b] = two;
    const offerings = b!.offerings.map((each) => ({ ...each, available: false, price: 0, unpriced: true }));
    const types = [a!, { ...b!, offerings }];
    const cheapest = (spec: Partial<NodeOverlay['spec']>) =>
      plan(packingInput({ pods: [pod('p')], nodeOverlays: [overlay('o', spec)] }, { types })).newNodeClaims[0]
        ?.cheapest;
    expect(cheapest({ requirements: only('b'), price: '0.5' })).toMatchObject({ instanceType: 'b', pricePerHour: 0.5 });
    expect(cheapest({ requirements: only('b'), priceAdjustment: '+0.5' })?.instanceType).toBe('a');
    expect(cheapest({ price: '0.5' })?.instanceType).toBe('a');
  });

  test("an overlay's capacity adds an extended resource", () => {
    const nodeOverlays = [overlay('o', { requirements: only('b'), capacity: { 'example.com/fuse': '2' } })];
    const pods = [pod('p', { requests: { 'example.com/fuse': '1' } })];
    const [claim] = plan(packingInput({ pods, nodeOverlays }, { types: two })).newNodeClaims;
    expect(claim).toMatchObject({
      instanceTypes: ['b'],
      annotations: { [annotations.capacityOverlayApplied]: 'true' },
    });
  });
});

// Rules `capacity-buffers/spec`, `capacity-buffers/size`.
describe('capacity buffers', () => {
  const replicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: 'web-1',
      namespace: 'default',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'web' }],
    },
    spec: { replicas: 4, template: { spec: pod('x').spec } },
  };
  const buffer = (spec: Partial<CapacityBuffer['spec']>): CapacityBuffer => ({
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'spare', namespace: 'default' },
    spec: { provisioningStrategy: 'buffer.x-k8s.io/active-capacity', ...spec },
  });
  const scalableRef = { apiGroup: 'apps', kind: 'Deployment', name: 'web' };
  const podsFor = (spec: Partial<CapacityBuffer['spec']>): string[] =>
    plan(packingInput({ replicaSets: [replicaSet], capacityBuffers: [buffer(spec)] })).newNodeClaims.flatMap(
      ({ pods }) => pods,
    );

  test.each<[string, Partial<CapacityBuffer['spec']>, number]>([
    ['replicas', { replicas: 2 }, 2],
    ['a share of the workload, rounded up', { percentage: 30 }, 2],
    ['the larger of both', { replicas: 1, percentage: 75 }, 3],
    ['limits alone', { limits: { cpu: '3' } }, 3],
    ['limits above all', { replicas: 9, limits: { cpu: '2500m' } }, 2],
    ['another strategy', { replicas: 2, provisioningStrategy: 'other' }, 0],
  ])('%s', (_, spec, count) => {
    expect(podsFor({ scalableRef, ...spec })).toEqual(
      Array.from({ length: count }, (__, i) => `default/spare-buffer-${i}`),
    );
  });

  // Rule `capacity-buffers/stand-in-pods`.
  test('pending pods get existing room before buffers', () => {
    const objects = { replicaSets: [replicaSet], capacityBuffers: [buffer({ scalableRef, replicas: 1 })] };
    const result = plan(
      packingInput({ ...objects, pods: [pod('real', { cpu: '500m' })], nodes: [node('n', { cpu: '1' })] }),
    );
    expect(result.existingNodes).toEqual([{ node: 'n', pods: ['default/real'] }]);
  });
});

describe('spot ratio', () => {
  const policy = (spotRatio: object) =>
    disruptionPolicies.mustParse({
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'p' },
      spec: { spotRatio },
    });
  const cores = (result: Plan, kind: string): number =>
    result.newNodeClaims
      .filter(({ cheapest }) => cheapest.capacityType === kind)
      .reduce((sum, { cheapest }) => sum + Number(cheapest.instanceType.slice(1)), 0);
  const twos = [sizes[1]!];

  test.each([
    [70, 14, 6],
    [100, 20, 0],
    [0, 0, 20],
  ])('%d%% spot by vCPU: %d spot, %d on-demand', (spotPercent, spot, onDemand) => {
    const result = plan(
      packingInput({ pods: podsOf(20, 'p'), disruptionPolicies: [policy({ spotPercent })] }, { types: twos }),
    );
    expect([cores(result, 'spot'), cores(result, 'on-demand')]).toEqual([spot, onDemand]);
  });

  test('minimumOnDemandVCPU holds at any ratio', () => {
    const disruptionPolicies = [policy({ spotPercent: 100, minimumOnDemandVCPU: 6 })];
    const result = plan(packingInput({ pods: podsOf(20, 'p'), disruptionPolicies }, { types: twos }));
    expect(cores(result, 'on-demand')).toBe(6);
  });

  test('running nodes count toward the ratio', () => {
    const nodes = [
      node('n', {
        cpu: '10',
        labels: { [labels.capacityType]: 'on-demand' },
        taints: [{ key: 'k', effect: 'NoSchedule' }],
      }),
    ];
    const disruptionPolicies = [policy({ spotPercent: 50 })];
    const result = plan(packingInput({ pods: podsOf(10, 'p'), nodes, disruptionPolicies }, { types: twos }));
    expect(cores(result, 'spot')).toBe(10);
  });

  test('the ratio holds per zone where the policy says so', () => {
    const spread = {
      labels: { app: 'x' },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: labels.zone,
          whenUnsatisfiable: 'DoNotSchedule' as const,
          labelSelector: { matchLabels: { app: 'x' } },
        },
      ],
    };
    const disruptionPolicies = [policy({ spotPercent: 50, perZone: true })];
    const result = plan(packingInput({ pods: podsOf(12, 'p', spread), disruptionPolicies }, { types: twos }));
    expect(zonesOf(result)).toEqual({ 'zone-a': 4, 'zone-b': 4, 'zone-c': 4 });
    for (const zone of ['zone-a', 'zone-b', 'zone-c']) {
      const own = result.newNodeClaims.filter(({ cheapest }) => cheapest.zone === zone);
      expect(own.map(({ cheapest }) => cheapest.capacityType).sort()).toEqual(['on-demand', 'spot']);
    }
  });

  test('the ratio is met within one node whatever the sizes', () => {
    const choices = [64, 32, 16, 8, 8, 4, 2, 1].map((n) => ({
      pool: 'p',
      zone: undefined,
      spot: n * 1000,
      onDemand: n * 1000,
    }));
    const ratio = { spotPercent: 70, minimumOnDemandVCPU: 0, perZone: false };
    const shares = shareOut(ratio, choices, new Map());
    const spot = choices.reduce((sum, { spot: own }, i) => sum + (shares[i] === 'spot' ? own : 0), 0);
    expect(Math.abs(spot - 0.7 * 135_000)).toBeLessThanOrEqual(64_000);
    expect(Math.abs(spot - 0.7 * 135_000)).toBeLessThanOrEqual(8_000);
  });
});

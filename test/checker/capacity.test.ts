import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../api/kubernetes.js';
import { offering } from '../cases/catalogues.js';
import { capacityTypeKey, inValues, nodePool, pod, requestsOf, zoneKey } from '../cases/objects.js';
import { checkPlan } from './check.js';
import type { CatalogueEntry, ClaimJson, CommitmentJson, PlanJson } from './types.js';

const reservation = {
  Price: 0.001,
  Available: true,
  ReservationCapacity: 1,
  Requirements: [
    inValues(capacityTypeKey, 'reserved'),
    inValues(zoneKey, 'a'),
    inValues('karpenter.k8s.aws/capacity-reservation-id', 'cr-1'),
  ],
};
const catalogue: CatalogueEntry[] = [
  {
    name: 'm-2x',
    architecture: 'amd64',
    operatingSystems: ['linux'],
    resources: { cpu: '2', memory: '8Gi', pods: '10' },
    offerings: [offering('a', 'on-demand', 0.2), offering('a', 'spot', 0.1), reservation],
  },
];
const prices = { spot: 0.1, 'on-demand': 0.2, reserved: 0.001 } as const;
type CapacityType = keyof typeof prices;

const claim = (name: string, capacityTypes: readonly CapacityType[], pricePerHour?: number): ClaimJson => ({
  nodePool: 'default',
  pods: [`default/${name}`],
  instanceTypes: ['m-2x'],
  requirements: [inValues(capacityTypeKey, ...capacityTypes)],
  cheapest: {
    instanceType: 'm-2x',
    zone: 'a',
    capacityType: capacityTypes[0]!,
    pricePerHour: pricePerHour ?? prices[capacityTypes[0]!],
  },
});
const planOf = (...claims: ClaimJson[]): PlanJson => ({
  engine: 'test',
  newNodeClaims: claims,
  existingNodes: [],
  unschedulable: [],
  pricePerHour: claims.reduce((sum, { cheapest }) => sum + (cheapest?.pricePerHour ?? 0), 0),
});
const web = (name: string, requests = requestsOf('1', '1Gi')): KubernetesObject => pod(name, { app: 'web' }, requests);
const rulesBroken = (objects: readonly KubernetesObject[], plan: PlanJson): string[] => [
  ...new Set(
    checkPlan({ items: [nodePool('default'), ...objects] }, catalogue, plan).violations.map(({ rule }) => rule),
  ),
];

describe('checkPlan, capacity reservations', () => {
  test('a plan uses a reservation for no more nodes than it has free', () => {
    expect(rulesBroken([web('one')], planOf(claim('one', ['reserved'])))).toEqual([]);
    const two = planOf(claim('one', ['reserved']), claim('two', ['reserved']));
    expect(rulesBroken([web('one'), web('two')], two)).toEqual(['reservations']);
  });
});

describe('checkPlan, spot ratios', () => {
  const half = (more: object = {}): KubernetesObject =>
    ({
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'half' },
      spec: { spotRatio: { spotPercent: 50, ...more } },
    }) as KubernetesObject;
  const four = ['a', 'b', 'c', 'd'];
  const pods = four.map((name) => web(name));
  const all = (types: readonly CapacityType[]): PlanJson => planOf(...four.map((name) => claim(name, types)));

  test('a plan keeps the spot ratio within one node', () => {
    const even = planOf(...four.map((name, i): ClaimJson => claim(name, [i % 2 === 0 ? 'spot' : 'on-demand'])));
    expect(rulesBroken([half(), ...pods], even)).toEqual([]);
    expect(rulesBroken([half(), ...pods], all(['spot']))).toEqual(['spot-ratio']);
  });

  test('a claim under a spot ratio allows only one capacity type', () => {
    expect(rulesBroken([half(), ...pods], all(['spot', 'on-demand']))).toContain('spot-ratio');
    expect(rulesBroken(pods, all(['spot', 'on-demand']))).toEqual([]);
  });

  test('minimumOnDemandVCPU comes before the spot ratio', () => {
    expect(rulesBroken([half({ minimumOnDemandVCPU: 8 }), ...pods], all(['on-demand']))).toEqual([]);
    expect(rulesBroken([half(), ...pods], all(['on-demand']))).toEqual(['spot-ratio']);
  });
});

test("checkPlan: a policy's nodeCost counts in the price of each node", () => {
  const spec = { nodeCost: '0.5' };
  const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'p' }, spec };
  const objects = [policy as KubernetesObject, web('one')];
  expect(rulesBroken(objects, planOf(claim('one', ['spot'])))).toEqual(['price']);
  expect(rulesBroken(objects, planOf(claim('one', ['spot'], 0.6)))).toEqual([]);
});

describe('checkPlan, NodeOverlays', () => {
  const overlay = (name: string, spec: object): KubernetesObject =>
    ({ apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name }, spec }) as KubernetesObject;
  const onSpot = [inValues(capacityTypeKey, 'spot')];
  const dearer = overlay('dearer', { requirements: onSpot, priceAdjustment: '+100%', weight: 2 });

  test('the heaviest overlay decides a price', () => {
    expect(rulesBroken([dearer, web('one')], planOf(claim('one', ['spot'])))).toEqual(['price']);
    const lighter = overlay('lighter', { requirements: onSpot, price: '5', weight: 1 });
    expect(rulesBroken([dearer, lighter, web('one')], planOf(claim('one', ['spot'], 0.2)))).toEqual([]);
  });

  test('of overlays with equal weight only one decides a price', () => {
    const same = overlay('again', { requirements: onSpot, price: '5', weight: 2 });
    expect(rulesBroken([dearer, same, web('one')], planOf(claim('one', ['spot'], 0.2)))).toEqual([]);
  });

  test('overlays add resources that pods can request', () => {
    const pods = [web('one', requestsOf('1', '1Gi', { 'example.com/device': '1' }))];
    const devices = overlay('devices', { requirements: [], capacity: { 'example.com/device': '1' } });
    expect(rulesBroken(pods, planOf(claim('one', ['spot'])))).toEqual(['over-full']);
    expect(rulesBroken([devices, ...pods], planOf(claim('one', ['spot'])))).toEqual([]);
  });
});

describe('checkPlan, CapacityBuffers', () => {
  const template = { spec: { containers: [{ name: 'main', resources: { requests: requestsOf('500m', '1Gi') } }] } };
  const buffer = (spec: object): KubernetesObject[] =>
    [
      { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'web' }, template },
      {
        apiVersion: 'autoscaling.x-k8s.io/v1beta1',
        kind: 'CapacityBuffer',
        metadata: { name: 'spare' },
        spec: { provisioningStrategy: 'buffer.x-k8s.io/active-capacity', podTemplateRef: { name: 'web' }, ...spec },
      },
    ] as unknown as KubernetesObject[];
  const both = { ...claim('spare-buffer-0', ['spot']), pods: ['default/spare-buffer-0', 'default/spare-buffer-1'] };

  test('their pods have to be placed or reported as unplaced', () => {
    expect(rulesBroken(buffer({ replicas: 2 }), planOf(both))).toEqual([]);
    expect(rulesBroken(buffer({ replicas: 2, provisioningStrategy: undefined }), planOf(both))).toEqual([]);
    expect(rulesBroken(buffer({ replicas: 3 }), planOf(both))).toEqual(['missing-pod']);
  });

  test("their pods end at the buffer's limits", () => {
    expect(rulesBroken(buffer({ replicas: 5, limits: { cpu: '1' } }), planOf(both))).toEqual([]);
    expect(rulesBroken(buffer({ limits: { cpu: '500m' } }), planOf(both))).toEqual(['unknown-pod']);
  });
});

// Rule `instance-types/commitments`.
describe('checkPlan, commitments', () => {
  const plan = (name: string, pricePerHour = 0.002): ClaimJson => ({
    ...claim(name, ['on-demand']),
    cheapest: { instanceType: 'm-2x', zone: 'a', capacityType: 'on-demand', pricePerHour, commitment: 'ri' },
  });
  const reserved = { name: 'ri', kind: 'ReservedInstances', instanceType: 'm-2x', count: 1 };
  const broken = (claims: readonly ClaimJson[], commitments: readonly CommitmentJson[]): string[] => {
    const pods = claims.map((each) => web(each.pods[0]!.replace('default/', '')));
    const { violations } = checkPlan(
      { items: [nodePool('default'), ...pods] },
      catalogue,
      planOf(...claims),
      new Set(),
      commitments,
    );
    return [...new Set(violations.map(({ rule }) => rule))];
  };

  test('cover as much as is left of them, at a hundredth of the price', () => {
    expect(broken([plan('one')], [reserved])).toEqual([]);
    expect(broken([plan('one'), plan('two')], [reserved])).toEqual(['commitments']);
    expect(broken([plan('one', 0.001)], [reserved])).toEqual(['price']);
    expect(broken([plan('one')], [])).toEqual(['commitments', 'price'].reverse());
    const other = { name: 'ri', kind: 'EC2InstanceSavingsPlan', instanceFamily: 'c', perHour: 1, discount: 0.2 };
    expect(broken([plan('one')], [other])).toEqual(['price']);
  });
});

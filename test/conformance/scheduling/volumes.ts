import type { KubernetesObject, NodeSelectorTerm } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { antiAffinity } from '../topology-terms.js';
import type { all } from '../world.js';
import {
  growingTypes,
  node,
  oneOf,
  pod,
  pods,
  special,
  type,
  zone1,
  zone2,
  type NodeOptions,
  type PodOptions,
} from '../world.js';

const driver = 'csi.example.com';
const other = 'other.example.com';
const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' };
type Terms = readonly Readonly<Record<string, string>>[];

const made = (apiVersion: string, kind: string, name: string, rest: object): KubernetesObject => {
  const { metadata, ...more } = rest as { metadata?: object };
  return { apiVersion, kind, metadata: { name, ...metadata }, ...more };
};

interface ClassOptions {
  readonly provisioner?: string;
  readonly mode?: string;
  readonly terms?: Terms;
  readonly metadata?: object;
}
export const storage = (
  name: string,
  { provisioner = driver, mode, terms, metadata = {} }: ClassOptions = {},
): KubernetesObject =>
  made('storage.k8s.io/v1', 'StorageClass', name, {
    metadata,
    provisioner,
    volumeBindingMode: mode ?? 'WaitForFirstConsumer',
    ...(terms && {
      allowedTopologies: terms.map((term) => ({
        matchLabelExpressions: Object.entries(term).map(([key, value]) => ({ key, values: [value] })),
      })),
    }),
  });
export const claim = (name: string, spec: object, more: object = {}): KubernetesObject =>
  made('v1', 'PersistentVolumeClaim', name, {
    spec,
    ...more,
    metadata: {
      namespace: 'default',
      ...('volumeName' in spec && { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
      ...(more as { metadata?: object }).metadata,
    },
  });
export const volume = (name: string, spec: object, metadata: object = {}): KubernetesObject =>
  made('v1', 'PersistentVolume', name, { spec: { csi: { driver }, ...spec }, metadata });
export const inTerms = (terms: Terms): object => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: terms.map((term): NodeSelectorTerm => ({
        matchExpressions: Object.entries(term).map(([key, value]) => oneOf(key, value)),
      })),
    },
  },
});
const csiNode = (name: string, counts: Readonly<Record<string, number>>) =>
  made('storage.k8s.io/v1', 'CSINode', name, {
    spec: { drivers: Object.entries(counts).map(([name, count]) => ({ name, nodeID: 'n', allocatable: { count } })) },
  });
export const using = (...claims: string[]): PodOptions => ({
  volumes: claims.map((claimName, i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName } })),
});
export const ephemeral = (spec: object): PodOptions => ({
  volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec } } }] as never,
});
const roomy: NodeOptions = { allocatable: { cpu: '1024', memory: '4Gi', pods: '1024' } };
const catalogue = [type('roomy', { cpu: 1024, pods: 1024 })];
const run = (objects: readonly KubernetesObject[], expected: Expected = {}): Check =>
  plans({ catalogue, objects }, expected);
const left: Expected = { left: ['p'] };
const eitherZone: Terms = [{ [labels.zone]: zone1 }, { [labels.zone]: zone2 }];
const apart = { labels: { app: 'x' }, ...antiAffinity('x') };
const bothZones: Expected = { nodes: 2, by: { [labels.zone]: { [zone1]: 1, [zone2]: 1 } } };
const zonal = storage('s', { terms: [{ [labels.zone]: zone1 }] });

/** A node whose one attachment is taken, and a pod with one more. */
const full = (
  classes: readonly KubernetesObject[],
  spec: object,
  limits: Readonly<Record<string, number>>,
  claimed: object = spec,
): Check =>
  run(
    [
      ...classes,
      ...node('n', roomy),
      csiNode('n', limits),
      claim('r-tmp', claimed),
      claim('p-tmp', claimed),
      pod('r', { ...ephemeral(spec), nodeName: 'n' }),
      pod('p', ephemeral(spec)),
    ],
    { nodes: 1, existing: {} },
  );
const local = (spec: object): Check =>
  run(
    [
      volume('v', {
        csi: undefined,
        ...spec,
        ...inTerms([{ [labels.hostname]: 'gone' }, { [labels.zone]: 'no-such-zone' }]),
      }),
      claim('c', { volumeName: 'v' }),
      pod('p', using('c')),
    ],
    { nodes: 1 },
  );
const refused = (more: readonly KubernetesObject[]): Check => run([...more, pod('p', using('c'))], left);
const unsupported =
  'which drivers and keys a cloud does not serve is a list that AWS fills; there is none to be set here';

export const volumeCases: readonly ConformanceCase[] = about('attach limits', [
  same(
    2903,
    'a node takes as many volumes as its driver allows',
    run(
      [
        zonal,
        ...node('n', roomy),
        csiNode('n', { [driver]: 10 }),
        ...Array.from({ length: 6 }, (_, i) => [
          claim(`a${i}`, { storageClassName: 's' }),
          claim(`b${i}`, { storageClassName: 's' }),
          pod(`p-${i}`, using(`a${i}`, `b${i}`)),
        ]).flat(),
      ],
      { nodes: 1, existing: { n: 5 } },
    ),
  ),
  same(
    2955,
    'one volume claim of a hundred pods counts once',
    run(
      [
        zonal,
        ...node('n', roomy),
        csiNode('n', { [driver]: 10 }),
        volume('v', inTerms([{ [labels.zone]: zone1 }])),
        claim('c', { storageClassName: 's', volumeName: 'v' }),
        ...pods(100, using('c')),
      ],
      { nodes: 0, existing: { n: 100 } },
    ),
  ),
  same(
    3009,
    'volumes without a CSI driver do not count',
    run(
      [
        ...node('n', roomy),
        csiNode('n', { [driver]: 1 }),
        volume('v', { csi: undefined, nfs: { server: 's', path: '/' }, ...inTerms([{ [labels.zone]: zone1 }]) }),
        claim('c', { storageClassName: '', volumeName: 'v' }),
        ...pods(5, using('c')),
      ],
      { nodes: 0, existing: { n: 5 } },
    ),
  ),
  same(
    3047,
    'terms of a volume are alternatives',
    run(
      [0, 1].flatMap((i) => [
        volume(`v${i}`, inTerms(eitherZone)),
        claim(`c${i}`, { volumeName: `v${i}` }),
        pod(`p-${i}`, { ...using(`c${i}`), ...apart }),
      ]),
      bothZones,
    ),
  ),
  same(3115, 'a host name in the terms of a local volume is ignored', local({ local: { path: '/d' } })),
  same(3116, 'a host name in the terms of a hostPath volume is ignored', local({ hostPath: { path: '/d' } })),
  same(
    3118,
    'terms of a StorageClass are alternatives',
    run(
      [
        storage('s', { terms: eitherZone }),
        ...[0, 1].flatMap((i) => [
          claim(`c${i}`, { storageClassName: 's' }),
          pod(`p-${i}`, { ...using(`c${i}`), ...apart }),
        ]),
      ],
      bothZones,
    ),
  ),
  same(
    3165,
    'two volumes have one common alternative',
    plans(
      {
        catalogue: growingTypes(5),
        objects: [
          storage('a', { terms: [{ [special]: 'required' }, { [special]: 'optional' }] }),
          storage('b', {
            terms: [
              { [labels.zone]: zone1, [special]: 'optional' },
              { [labels.zone]: zone2, [special]: 'required' },
            ],
          }),
          claim('c', { storageClassName: 'a' }),
          claim('d', { storageClassName: 'b' }),
          pod('p', using('c', 'd')),
        ],
      },
      { nodes: 1, by: { [labels.zone]: { [zone1]: 1 }, [special]: { optional: 1 } } },
    ),
  ),
  same(
    3204,
    'an ephemeral volume counts for its class',
    full([storage('s'), storage('t', { provisioner: other, metadata: { annotations: isDefault } })], named('s'), {
      [driver]: 1,
      [other]: 10,
    }),
  ),
  same(
    3318,
    'an ephemeral volume without a class is of the default class',
    full([storage('s', { metadata: { annotations: isDefault } })], {}, { [driver]: 1 }, named('s')),
  ),
  notApplicable(
    3414,
    'of two default classes the newer one counts',
    'the API server chooses it, and writes it into the claim before a plan is made',
  ),
  notApplicable(3534, 'a provisioner that is not served', unsupported),
  notApplicable(3586, 'a bound volume of a provisioner that is not served', unsupported),
  notApplicable(3629, 'a topology key that is not served', unsupported),
  same(
    3662,
    'an unbound claim with immediate binding',
    refused([storage('s', { mode: 'Immediate' }), claim('c', { storageClassName: 's' })]),
  ),
  same(
    3684,
    'a claim that is being deleted',
    refused([
      storage('s'),
      claim('c', { storageClassName: 's' }, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    ]),
  ),
  same(
    3707,
    'a bound volume that is being deleted',
    refused([volume('v', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }), claim('c', { volumeName: 'v' })]),
  ),
  same(
    3749,
    'a lost claim',
    refused([storage('s'), claim('c', { storageClassName: 's' }, { status: { phase: 'Lost' } })]),
  ),
  same(
    3807,
    'a claim whose volume is not fully bound',
    refused([
      storage('s'),
      volume('v', {}),
      claim('c', { storageClassName: 's', volumeName: 'v' }, { metadata: { annotations: {} } }),
    ]),
  ),
  same(
    3808,
    'a fully bound claim',
    run([storage('s'), volume('v', {}), claim('c', { storageClassName: 's', volumeName: 'v' }), pod('p', using('c'))], {
      nodes: 1,
    }),
  ),
  ...['no-such-class', ''].flatMap((name, i) => [
    same(
      [3859, 3860][i]!,
      `an ephemeral volume whose claim is bound needs no class: '${name}'`,
      run([volume('v', {}), claim('p-tmp', { ...named(name), volumeName: 'v' }), pod('p', ephemeral(named(name)))], {
        nodes: 1,
      }),
    ),
    same(
      [3895, 3896][i]!,
      `an ephemeral volume without a claim needs its class: '${name}'`,
      run([pod('p', ephemeral(named(name)))], left),
    ),
  ]),
  same(
    3899,
    'an in-tree volume counts for the CSI driver that replaced it',
    run(
      [
        inTree(),
        ...node('n', roomy),
        csiNode('n', { 'ebs.csi.aws.com': 1 }),
        volume('v', {
          csi: undefined,
          awsElasticBlockStore: { volumeID: 'vol-1' },
          ...inTerms([{ [labels.zone]: zone1 }]),
        }),
        claim('c', { ...named('s'), volumeName: 'v' }),
        claim('d', named('s')),
        pod('r', { ...using('c'), nodeName: 'n' }),
        pod('p', using('d')),
      ],
      { nodes: 1, existing: {} },
    ),
  ),
  same(
    3958,
    'an ephemeral in-tree volume counts for the CSI driver that replaced it',
    full([inTree()], named('s'), { 'ebs.csi.aws.com': 1 }),
  ),
]);

/** The zones of pods with volumes, which Karpenter has as a metric. */
export const volumeZoneCases: readonly ConformanceCase[] = about('zones of storage classes', [
  same(4478, 'a class with two zones leaves the zone open', inClass([zone1, zone2], {}, { nodes: 1 })),
  same(4484, 'a class with one zone sets it', inClass([zone1], {}, { by: { [labels.zone]: { [zone1]: 1 } } })),
  same(
    4490,
    'a class that the node selector excludes',
    inClass([zone2], { nodeSelector: { [labels.zone]: zone1 } }, left),
  ),
]);

function inClass(zones: readonly (typeof all)[number][], options: PodOptions, expected: Expected): Check {
  const terms = zones.map((zone) => ({ [labels.zone]: zone }));
  const objects = [
    storage('s', { terms }),
    claim('c', { storageClassName: 's' }),
    pod('p', { ...using('c'), ...options }),
  ];
  return run(objects, expected);
}

export function named(storageClassName: string): object {
  return { storageClassName };
}

function inTree(): KubernetesObject {
  const metadata = { annotations: isDefault };
  return storage('s', { provisioner: 'kubernetes.io/aws-ebs', terms: [{ [labels.zone]: zone1 }], metadata });
}

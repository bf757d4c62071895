import type { KubernetesObject, Taint, TopologySpreadConstraint } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { constraint, spread } from '../topology-terms.js';
import { all, omit, oneOf, pod, pods, pool, poolOf, zone1, zone2, type PodOptions } from '../world.js';
import { leaves, taken } from './spread.js';

type Constraint = Omit<TopologySpreadConstraint, 'labelSelector'>;

const zone = labels.zone;
const byDefault = (more: Partial<Constraint> = {}): Constraint => omit(constraint(more), 'labelSelector');
const owned = (count: number, app = 'x', options: PodOptions = {}) => pods(count, { labels: { app }, ...options }, app);
const replicaSet = (app: string, own: Record<string, string> = { app }): KubernetesObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: app, namespace: 'default', uid: `rs-${app}` },
    spec: { selector: { matchLabels: own } },
  }) as KubernetesObject;
const service: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', namespace: 'default' },
  spec: { selector: { app: 'x' } },
} as KubernetesObject;
const withDefault = (
  defaults: readonly Constraint[],
  objects: readonly (KubernetesObject | KubernetesObject[])[],
  expected: Expected,
): Check => plans({ objects, settings: { defaultTopologySpread: defaults } }, expected);
const zones = (...counts: number[]): Expected => ({
  by: { [zone]: Object.fromEntries(counts.flatMap((count, i) => (count > 0 ? [[all[i]!, count] as const] : []))) },
});
const perHost = byDefault({ topologyKey: labels.hostname });
const unowned = (count: number, kind?: string) =>
  owned(count).map((each) => ({
    ...each,
    metadata: {
      ...each.metadata,
      ownerReferences:
        kind === undefined ? [] : [{ apiVersion: 'batch/v1', kind, name: 'j', uid: 'j', controller: true }],
    },
  }));
const revision = (hash: string) => {
  const own = { app: 'x', 'pod-template-hash': hash };
  return [
    replicaSet(hash, own),
    ...pods(3, { labels: own }, hash).map((each) => ({
      ...each,
      metadata: {
        ...each.metadata,
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: hash, uid: `rs-${hash}`, controller: true },
        ],
      },
    })),
  ];
};
const oneZone = poolOf(oneOf(zone, zone1));

export const defaultCases: readonly ConformanceCase[] = about('default spread', [
  same(3009, 'by zone', withDefault([byDefault()], [replicaSet('x'), ...owned(4)], zones(2, 1, 1))),
  same(3015, 'by host', withDefault([perHost], [replicaSet('x'), ...owned(3)], { sizes: [1, 1, 1] })),
  same(
    3027,
    'does not apply to pods with their own constraints',
    withDefault([perHost], [replicaSet('x'), ...owned(3, 'x', spread({ topologyKey: labels.hostname, maxSkew: 3 }))], {
      sizes: [3],
    }),
  ),
  same(
    3051,
    'with minDomains',
    leaves(
      1,
      withDefault(
        [byDefault({ minDomains: 3 })],
        [poolOf(oneOf(zone, zone1, zone2)), replicaSet('x'), ...owned(3)],
        zones(1, 1),
      ),
    ),
  ),
  same(
    3086,
    'that cannot be met leaves pods pending',
    leaves(2, withDefault([byDefault({ minDomains: 3 })], [oneZone, replicaSet('x'), ...owned(3)], zones(1))),
  ),
  same(
    3103,
    'with ScheduleAnyway leaves none pending',
    withDefault(
      [byDefault({ whenUnsatisfiable: 'ScheduleAnyway' })],
      [oneZone, replicaSet('x'), ...owned(3)],
      zones(3),
    ),
  ),
  same(3130, 'is absent', withDefault([], [replicaSet('x'), ...owned(3)], { nodes: 1 })),
  same(3137, 'does not apply to pods without owner and Service', withDefault([perHost], unowned(3), { nodes: 1 })),
  same(
    3146,
    'counts running pods by the deduced selector',
    withDefault(
      [byDefault()],
      [
        poolOf(oneOf(zone, zone1, zone2)),
        replicaSet('x'),
        ...taken('a', { zone: zone1 }, {}, {}),
        ...owned(2, 'x', { cpu: '1' }),
      ],
      zones(0, 2),
    ),
  ),
  same(
    3188,
    'is separate for each owner',
    withDefault([byDefault()], [replicaSet('x'), replicaSet('y'), ...owned(3), ...owned(3, 'y')], zones(2, 2, 2)),
  ),
  same(
    3213,
    'is separate for each revision',
    withDefault([byDefault()], [...revision('old'), ...revision('new')], zones(2, 2, 2)),
  ),
  same(
    3244,
    'uses a Service that selects the pods',
    withDefault([byDefault()], [service, ...unowned(4, 'Job')], zones(2, 1, 1)),
  ),
]);

const taint: Taint = { key: 'test-key', value: 'test-value', effect: 'NoSchedule' };
const tainted = pool({ taints: [taint] });
const tolerating = (name: string, toleration: object) => pod(name, { tolerations: [toleration] });
const volume = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: {
      csi: { driver: 'csi.example.com' },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [oneOf(zone, zone1)] }] } },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName: 'v' },
  },
] as unknown as KubernetesObject[];

export const taintCases: readonly ConformanceCase[] = about('taints and tolerations', [
  same(
    3280,
    'a pod that tolerates all gets a node of the tainted pool',
    plans({ objects: [tainted, tolerating('p', { operator: 'Exists', effect: 'NoSchedule' })] }, { nodes: 1 }),
  ),
  same(
    3290,
    'tolerations by key and by value, and ones that do not match',
    plans(
      {
        objects: [
          tainted,
          tolerating('a', { key: taint.key, operator: 'Exists', effect: 'NoSchedule' }),
          tolerating('b', { ...taint, operator: 'Equal' }),
          pod('c'),
          tolerating('d', { key: 'invalid', operator: 'Exists' }),
          tolerating('e', { key: taint.key, operator: 'Equal', effect: 'NoSchedule' }),
        ],
      },
      { nodes: 1, sizes: [2], left: ['c', 'd', 'e'] },
    ),
  ),
  same(
    3317,
    'startup taints exclude no pod',
    plans({ objects: [pool({ startupTaints: [taint] }), pod()] }, { nodes: 1 }),
  ),
  same(
    3325,
    'a toleration adds no taint',
    plans({ objects: [tolerating('p', { key: taint.key, operator: 'Exists', effect: 'NoExecute' })] }, { nodes: 1 }),
  ),
  same(
    3359,
    "a volume's zone does not change the counted zones",
    plans(
      {
        objects: [
          ...volume,
          ...all.flatMap((name) => taken(name, { zone: name }, {})),
          pod('p', {
            labels: { app: 'x' },
            cpu: '1',
            ...spread({ minDomains: 3 }),
            volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
          }),
        ],
      },
      zones(1),
    ),
  ),
]);

import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject, PodSpec } from '../../api/kubernetes.js';
import {
  container,
  daemonSet,
  hostnameKey,
  inValues,
  kwok,
  nodePool,
  pod,
  requestsOf,
  runningNode,
  zoneKey,
} from '../cases/objects.js';
import { offering } from '../cases/catalogues.js';
import { checkPlan } from './check.js';
import type { CatalogueEntry, ClaimJson, PlanJson, Rule } from './types.js';

const type = (name: string, cpu: number, price: number, zones = ['a', 'b']): CatalogueEntry => ({
  name,
  architecture: 'amd64',
  operatingSystems: ['linux'],
  resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '10' },
  offerings: zones.flatMap((zone) => [offering(zone, 'on-demand', price), offering(zone, 'spot', price / 2)]),
});

const generation = 'karpenter.k8s.aws/instance-generation';
const catalogue: CatalogueEntry[] = [
  type('m-2x', 2, 0.1),
  type('m-4x', 4, 0.2),
  type('r-8x', 8, 0.5),
  { ...type('m6.large', 2, 0.3), labels: { [generation]: '6' } },
  { ...type('m7.large', 2, 0.3), labels: { [generation]: '7' } },
];

const small = requestsOf('1', '1Gi');
const app = (name: string, spec: Partial<PodSpec> = {}, label = 'web'): KubernetesObject =>
  pod(name, { app: label }, small, spec);

interface Draft {
  pods?: string[];
  types?: string[];
  zones?: string[];
  pool?: string;
  labels?: Record<string, string>;
  cheapest?: NonNullable<ClaimJson['cheapest']>;
}

/** A claim for spot in the zones given; its stated price is right unless said otherwise. */
function claim({ pods = [], types = ['m-2x'], zones = ['a'], pool = 'default', labels, cheapest }: Draft): ClaimJson {
  const best = catalogue.find((entry) => entry.name === types[0]);
  return {
    nodePool: pool,
    pods: pods.map((name) => `default/${name}`),
    instanceTypes: types,
    requirements: [inValues(zoneKey, ...zones), inValues('karpenter.sh/capacity-type', 'spot')],
    ...(labels && { labels }),
    cheapest: cheapest ?? {
      instanceType: types[0] ?? '',
      zone: zones[0] ?? '',
      capacityType: 'spot',
      pricePerHour: best?.offerings[1]?.Price ?? 0,
    },
  };
}

function plan(claims: ClaimJson[], more: Partial<PlanJson> = {}): PlanJson {
  return {
    engine: 'test',
    newNodeClaims: claims,
    existingNodes: [],
    unschedulable: [],
    pricePerHour: claims.reduce((sum, { cheapest }) => sum + (cheapest?.pricePerHour ?? 0), 0),
    ...more,
  };
}

interface Example {
  readonly says: string;
  readonly objects: readonly KubernetesObject[];
  readonly plan: PlanJson;
  /** The rules broken; none for a valid plan. */
  readonly breaks: readonly Rule[];
}

const pool = nodePool('default');
const smallTypes = (name: string): KubernetesObject =>
  nodePool(name, { weight: 5, requirements: [inValues('node.kubernetes.io/instance-type', 'm-2x', 'm-4x')] });
const web = { matchLabels: { app: 'web' } };
const node = (name: string, zone = 'a'): KubernetesObject[] =>
  runningNode({
    name,
    pool: 'default',
    labels: { [zoneKey]: zone, 'node.kubernetes.io/instance-type': 'm-2x' },
    allocatable: { cpu: '2', memory: '8Gi', pods: '10' },
  });
const claiming = (each: KubernetesObject, name: string): KubernetesObject => {
  const made = each as KubernetesObject & { spec: PodSpec };
  return Object.assign({}, made, { spec: { ...made.spec, ...volume(name) } });
};
const staticVolumes = (...zones: string[]): KubernetesObject[] =>
  [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'static' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    },
    ...zones.map((zone) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `pv-${zone}` },
      spec: {
        storageClassName: 'static',
        accessModes: ['ReadWriteOnce', 'ReadWriteOncePod'],
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [inValues(zoneKey, zone)] }] } },
      },
      status: { phase: 'Available' },
    })),
  ] as KubernetesObject[];
const staticClaims = (count: number, mode = 'ReadWriteOnce'): KubernetesObject[] =>
  Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: `c${i}`, namespace: 'default' },
    spec: { storageClassName: 'static', accessModes: [mode] },
  }));
const agent = (spec: Partial<PodSpec> = {}): KubernetesObject => daemonSet('agent', requestsOf('100m', '100Mi'), spec);
/** The same terms for all namespaces. */
function everywhere({ affinity: all }: Partial<PodSpec>): Partial<PodSpec> {
  const widened = JSON.stringify(all).replaceAll('"topologyKey"', '"namespaceSelector":{},"topologyKey"');
  return { affinity: JSON.parse(widened) as NonNullable<PodSpec['affinity']> };
}
const draining = node('n1').map((each) => ending(each));
const on = (name: string, ...pods: string[]) => ({ node: name, pods: pods.map((key) => `default/${key}`) });

const antiAffinity = (topologyKey: string, label = 'web'): Partial<PodSpec> => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app: label } }, topologyKey }],
    },
  },
});
const affinity = (topologyKey: string, label = 'web'): Partial<PodSpec> => ({
  affinity: {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app: label } }, topologyKey }],
    },
  },
});
function ending(pod: KubernetesObject): KubernetesObject {
  return {
    ...pod,
    metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
}
const spread = (
  topologyKey: string,
  more: Partial<NonNullable<PodSpec['topologySpreadConstraints']>[number]> = {},
): Partial<PodSpec> => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: web, ...more },
  ],
});
const notIn = (key: string, value: string): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'NotIn', values: [value] }] }],
      },
    },
  },
});
const volume = (name: string): Partial<PodSpec> => ({
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
});
const boundVolume = (name: string, zone: string, more: object = {}): KubernetesObject[] =>
  [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: 'default' },
      spec: { volumeName: `pv-${name}` },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `pv-${name}` },
      spec: {
        csi: { driver: 'ebs.csi.aws.com' },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [inValues(zoneKey, zone)] }] } },
      },
      ...more,
    },
  ] as unknown as KubernetesObject[];
const csiNode = (name: string, count: number): KubernetesObject =>
  ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: [{ name: 'ebs.csi.aws.com', allocatable: { count } }] },
  }) as KubernetesObject;

const two = [app('p1'), app('p2')];
const both = claim({ pods: ['p1', 'p2'] });
const apart = (zones: [string, string]): ClaimJson[] => [
  claim({ pods: ['p1'], zones: [zones[0]] }),
  claim({ pods: ['p2'], zones: [zones[1]] }),
];
const withPorts = (name: string, ports: { hostPort: number; hostIP?: string; protocol?: string }): KubernetesObject =>
  pod(name, { app: 'web' }, {}, { containers: [container(small, [ports])] });

const examples: Readonly<Record<string, readonly Example[]>> = {
  accounting: [
    { says: 'every pod placed once', objects: [pool, ...two], plan: plan([both]), breaks: [] },
    ...(['apps/v1', 'apps.kruise.io/v1alpha1'] as const).map((apiVersion): Example => {
      const ownerReferences = [{ apiVersion, kind: 'DaemonSet', name: 'd', uid: 'd' }];
      const owned = app('p2');
      return {
        says: `a pod left out that a DaemonSet of ${apiVersion} owns`,
        objects: [pool, app('p1'), { ...owned, metadata: { ...owned.metadata, ownerReferences } }],
        plan: plan([claim({ pods: ['p1'] })]),
        breaks: apiVersion === 'apps/v1' ? [] : ['missing-pod'],
      };
    }),
    {
      says: 'a pod left out that is reported as unschedulable',
      objects: [pool, ...two],
      plan: plan([claim({ pods: ['p1'] })], { unschedulable: [{ pod: 'default/p2', reason: 'test' }] }),
      breaks: [],
    },
    {
      says: 'a pod left out and not reported',
      objects: [pool, ...two],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['missing-pod'],
    },
    {
      says: 'a pod on two claims',
      objects: [pool, ...two],
      plan: plan([both, claim({ pods: ['p2'] })]),
      breaks: ['duplicate-pod'],
    },
    {
      says: 'a pod that is not among the objects',
      objects: [pool],
      plan: plan([claim({ pods: ['p9'] })]),
      breaks: ['unknown-pod'],
    },
    {
      says: 'a pod that runs on a node already',
      objects: [pool, ...node('n1'), app('p1', { nodeName: 'n1' })],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['unknown-pod'],
    },
  ],
  names: [
    {
      says: 'a node that is not among the objects',
      objects: [pool, app('p1')],
      plan: plan([], { existingNodes: [on('n9', 'p1')] }),
      breaks: ['unknown-node'],
    },
    {
      says: 'a NodePool that is not among the objects',
      objects: [pool, app('p1')],
      plan: plan([claim({ pods: ['p1'], pool: 'no' })], { pricePerHour: 0 }),
      breaks: ['unknown-pool'],
    },
    {
      says: 'an instance type that is not in the catalogue',
      objects: [pool, app('p1')],
      plan: plan([claim({ pods: ['p1'], types: ['m-2x', 'no-such'] })]),
      breaks: ['unknown-type'],
    },
  ],
  resources: [
    {
      says: 'three pods of one core on a type with two',
      objects: [pool, ...two, app('p3')],
      plan: plan([claim({ pods: ['p1', 'p2', 'p3'] })]),
      breaks: ['over-full'],
    },
    {
      says: 'a claim of which one type is too small for its pods',
      objects: [pool, ...two, app('p3')],
      plan: plan([
        claim({
          pods: ['p1', 'p2', 'p3'],
          types: ['m-4x', 'm-2x'],
          cheapest: { instanceType: 'm-4x', zone: 'a', capacityType: 'spot', pricePerHour: 0.1 },
        }),
      ]),
      // The smaller type is cheaper, so the stated price is wrong as well.
      breaks: ['listed-type', 'price'],
    },
    {
      says: 'no room for the pods of a DaemonSet',
      objects: [pool, ...two, daemonSet('agent', requestsOf('100m', '64Mi'))],
      plan: plan([both]),
      breaks: ['over-full'],
    },
    {
      says: 'no room for a DaemonSet of another API group',
      objects: [pool, ...two, { ...daemonSet('agent', requestsOf('100m', '64Mi')), apiVersion: 'example.com/v1' }],
      plan: plan([both]),
      breaks: [],
    },
    {
      says: 'no room for a DaemonSet whose newest pod requests more than its template',
      objects: [
        pool,
        ...two,
        daemonSet('agent', {}),
        {
          ...app('agent-1', { nodeName: 'elsewhere', containers: [container(requestsOf('100m', '64Mi'))] }),
          metadata: {
            ...daemonSet('agent', {}).metadata,
            name: 'agent-1',
            ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent' }],
          },
        },
      ],
      plan: plan([both]),
      breaks: ['over-full'],
    },
    {
      says: 'no room for a DaemonSet whose node selector excludes the node',
      objects: [pool, ...two, daemonSet('agent', requestsOf('100m', '64Mi'), { nodeSelector: { [zoneKey]: 'b' } })],
      plan: plan([both]),
      breaks: [],
    },
    {
      says: 'a pod on an existing node with room',
      objects: [pool, ...node('n1'), app('r1', { nodeName: 'n1' }), app('p1')],
      plan: plan([], { existingNodes: [on('n1', 'p1')] }),
      breaks: [],
    },
    {
      says: 'pods on an existing node with room for one of them',
      objects: [pool, ...node('n1'), app('r1', { nodeName: 'n1' }), ...two],
      plan: plan([], { existingNodes: [on('n1', 'p1', 'p2')] }),
      breaks: ['over-full'],
    },
    {
      says: 'a pod whose init container and sidecar together request more than the type has',
      objects: [
        pool,
        app('p1', {
          initContainers: [
            { ...container(small), name: 'sidecar', restartPolicy: 'Always' },
            { ...container(requestsOf('1500m', '1Gi')), name: 'init' },
          ],
        }),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['over-full'],
    },
    {
      says: 'pods in the room of a pod that is terminating',
      objects: [pool, ...node('n1'), ending(app('r1', { nodeName: 'n1' })), app('p1'), app('p2')],
      plan: plan([], { existingNodes: [on('n1', 'p1', 'p2')] }),
      breaks: ['over-full'],
    },
  ],
  requirements: [
    {
      says: 'a pod in the zone of its node selector',
      objects: [pool, app('p1', { nodeSelector: { [zoneKey]: 'a' } })],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a pod in another zone than its node selector has',
      objects: [pool, app('p1', { nodeSelector: { [zoneKey]: 'b' } })],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['requirements'],
    },
    {
      says: 'a pod with a zone in its node selector on a claim that allows two zones',
      objects: [pool, app('p1', { nodeSelector: { [zoneKey]: 'a' } })],
      plan: plan([claim({ pods: ['p1'], zones: ['a', 'b'] })]),
      breaks: ['requirements'],
    },
    {
      says: 'a claim of which one type exceeds the upper bound (Lt) of a pod',
      objects: [
        pool,
        app('p1', {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: kwok.cpu, operator: 'Lt', values: ['3'] }] }],
              },
            },
          },
        }),
      ],
      plan: plan([claim({ pods: ['p1'], types: ['m-2x', 'm-4x'] })]),
      breaks: ['requirements'],
    },
    {
      says: 'a pod whose second nodeSelectorTerm matches, and not its first',
      objects: [
        pool,
        app('p1', {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [inValues(zoneKey, 'nowhere')] },
                  { matchExpressions: [inValues(zoneKey, 'a')] },
                ],
              },
            },
          },
        }),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a pod that selects a custom label which the claim has',
      objects: [
        nodePool('default', { requirements: [inValues('team', 'x', 'y')] }),
        app('p1', { nodeSelector: { team: 'x' } }),
      ],
      plan: plan([claim({ pods: ['p1'], labels: { team: 'x' } })]),
      breaks: [],
    },
    {
      says: 'a pod that selects a custom label which neither pool nor claim has',
      objects: [pool, app('p1', { nodeSelector: { team: 'x' } })],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['requirements'],
    },
    {
      says: 'a claim without a label that its NodePool requires',
      objects: [nodePool('default', { requirements: [{ key: 'team', operator: 'Exists' }] }), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pool-requirements'],
    },
    ...(
      [
        ['bounds without a common value', ['Gt', '8'], ['Lt', '4'], []],
        ['bounds without an integer between them', ['Gt', '8'], ['Lt', '9'], []],
        ['bounds with one common value', ['Gte', '8'], ['Lte', '8'], ['pool-requirements']],
        ['lists with two common values', ['In', 'a', 'b', 'c'], ['In', 'b', 'c'], ['pool-requirements']],
        ['lists without a common value', ['In', 'a'], ['In', 'b'], []],
        ['In and NotIn of the same value', ['In', 'a'], ['NotIn', 'a'], []],
        ['Exists and DoesNotExist', ['Exists'], ['DoesNotExist'], []],
      ] as const
    ).map(([says, left, right, breaks]) => {
      const requirements = [left, right].map(([operator, ...values]) => ({ key: 'team', operator, values }));
      return {
        says: `a claim without a label that its NodePool requires twice: ${says}`,
        objects: [nodePool('default', { requirements }), app('p1')],
        plan: plan([claim({ pods: ['p1'] })]),
        breaks,
      };
    }),
    {
      says: 'a claim with a label that neither NodePool nor pods require',
      objects: [pool, app('p1', notIn('team', 'x'))],
      plan: plan([claim({ pods: ['p1'], labels: { team: '0' } })]),
      breaks: [],
    },
    {
      says: 'a claim in a zone that its NodePool excludes',
      objects: [nodePool('default', { requirements: [inValues(zoneKey, 'b')] }), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pool-requirements'],
    },
    ...(
      [
        ['a type whose AWS label its NodePool requires', ['m7.large'], []],
        ['a type with another value of an AWS label than its NodePool requires', ['m6.large'], ['pool-requirements']],
        ['types of which one has another value', ['m7.large', 'm6.large'], ['pool-requirements']],
        ['types of which one lacks the AWS label', ['m7.large', 'm-2x'], ['pool-requirements']],
      ] as const
    ).map(([says, types, breaks]): Example => {
      const newest = { key: generation, operator: 'Gt' as const, values: ['6'] };
      const cheapest = {
        instanceType: types[0],
        zone: 'a',
        capacityType: 'spot',
        pricePerHour: types.some((each) => each === 'm-2x') ? 0.05 : 0.15,
      };
      return {
        says,
        objects: [nodePool('default', { requirements: [newest] }), app('p1')],
        plan: plan([claim({ pods: ['p1'], types: [...types], cheapest })]),
        breaks,
      };
    }),
    {
      says: 'a pod on a type whose AWS label its node selector excludes',
      objects: [pool, app('p1', { nodeSelector: { [generation]: '7' } })],
      plan: plan([claim({ pods: ['p1'], types: ['m6.large'] })]),
      breaks: ['requirements'],
    },
    {
      says: 'a claim that requires a label which its NodePool does not allow',
      objects: [pool, app('p1', { nodeSelector: { team: 'x' } })],
      plan: plan([
        {
          ...claim({ pods: ['p1'] }),
          requirements: [inValues(zoneKey, 'a'), inValues('karpenter.sh/capacity-type', 'spot'), inValues('team', 'x')],
        },
      ]),
      breaks: ['pool-requirements'],
    },
  ],
  taints: [
    {
      says: 'a pod that tolerates the taint of its NodePool',
      objects: [
        nodePool('default', { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] }),
        app('p1', { tolerations: [{ key: 'k', value: 'v' }] }),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a pod that tolerates another value of the taint',
      objects: [
        nodePool('default', { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] }),
        app('p1', { tolerations: [{ key: 'k', value: 'w' }] }),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['taints'],
    },
    {
      says: 'a toleration with an empty operator, which is Equal',
      objects: [
        nodePool('default', { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] }),
        app('p1', { tolerations: [{ key: 'k', operator: '' as 'Equal', value: 'v' }] }),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a pod without tolerations on a node with PreferNoSchedule and startup taints',
      objects: [
        nodePool('default', {
          taints: [{ key: 'k', effect: 'PreferNoSchedule' }],
          startupTaints: [{ key: 's', effect: 'NoSchedule' }],
        }),
        app('p1'),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
  ],
  hostPorts: [
    {
      says: 'the same host port with different protocols on one node',
      objects: [pool, withPorts('p1', { hostPort: 80 }), withPorts('p2', { hostPort: 80, protocol: 'UDP' })],
      plan: plan([both]),
      breaks: [],
    },
    {
      says: 'the same host port on different addresses of one node',
      objects: [
        pool,
        withPorts('p1', { hostPort: 80, hostIP: '10.0.0.1' }),
        withPorts('p2', { hostPort: 80, hostIP: '10.0.0.2' }),
      ],
      plan: plan([both]),
      breaks: [],
    },
    {
      says: 'the same host port on 0.0.0.0 and on one address of a node',
      objects: [
        pool,
        withPorts('p1', { hostPort: 80, hostIP: '0.0.0.0' }),
        withPorts('p2', { hostPort: 80, hostIP: '10.0.0.2' }),
      ],
      plan: plan([both]),
      breaks: ['host-ports'],
    },
  ],
  antiAffinity: [
    {
      says: 'pods with anti-affinity by hostname on two nodes',
      objects: [pool, app('p1', antiAffinity(hostnameKey)), app('p2', antiAffinity(hostnameKey))],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
    {
      says: 'pods with anti-affinity by hostname on one node',
      objects: [pool, app('p1', antiAffinity(hostnameKey)), app('p2', antiAffinity(hostnameKey))],
      plan: plan([both]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'pods with anti-affinity by zone in two zones',
      objects: [pool, app('p1', antiAffinity(zoneKey)), app('p2')],
      plan: plan(apart(['a', 'b'])),
      breaks: [],
    },
    {
      says: 'pods with anti-affinity by zone in one zone',
      objects: [pool, app('p1', antiAffinity(zoneKey)), app('p2')],
      plan: plan(apart(['a', 'a'])),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'pods with anti-affinity by zone on claims that allow a common zone',
      objects: [pool, app('p1', antiAffinity(zoneKey)), app('p2')],
      plan: plan([claim({ pods: ['p1'], zones: ['a', 'b'] }), claim({ pods: ['p2'], zones: ['b'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'a new pod in the zone of a running pod whose anti-affinity selects it',
      objects: [pool, ...node('n1'), app('r1', { nodeName: 'n1', ...antiAffinity(zoneKey, 'web') }, 'db'), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'a new pod whose anti-affinity selects a terminating pod: it ends before the new node is ready',
      objects: [pool, ...node('n1'), ending(app('r1', { nodeName: 'n1' })), app('p1', antiAffinity(zoneKey))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a new pod that the anti-affinity of a terminating pod selects',
      objects: [pool, ...node('n1'), ending(app('r1', { nodeName: 'n1', ...antiAffinity(zoneKey) })), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a new pod whose anti-affinity selects a terminating pod and a running one',
      objects: [
        pool,
        ...node('n1'),
        ending(app('r1', { nodeName: 'n1' })),
        app('r2', { nodeName: 'n1' }),
        app('p1', antiAffinity(zoneKey)),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'pods with anti-affinity on one node in different namespaces',
      objects: [
        pool,
        app('p1', antiAffinity(hostnameKey)),
        { ...app('p2'), metadata: { name: 'p2', namespace: 'other', labels: { app: 'web' } } },
      ],
      plan: plan([{ ...claim({}), pods: ['default/p1', 'other/p2'] }]),
      breaks: [],
    },
  ],
  affinity: [
    {
      says: 'pods with affinity for each other by zone in one zone',
      objects: [pool, app('p1', affinity(zoneKey)), app('p2', affinity(zoneKey))],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
    {
      says: 'pods with affinity for each other by zone in two zones',
      objects: [pool, app('p1', affinity(zoneKey)), app('p2', affinity(zoneKey))],
      plan: plan(apart(['a', 'b'])),
      breaks: ['pod-affinity'],
    },
    {
      says: 'pods with affinity for each other by zone on two claims that allow two zones',
      objects: [pool, app('p1', affinity(zoneKey)), app('p2', affinity(zoneKey))],
      plan: plan([claim({ pods: ['p1'], zones: ['a', 'b'] }), claim({ pods: ['p2'], zones: ['a', 'b'] })]),
      breaks: ['pod-affinity'],
    },
    {
      says: 'pods with affinity for each other by zone on one claim that allows two zones',
      objects: [pool, app('p1', affinity(zoneKey)), app('p2', affinity(zoneKey))],
      plan: plan([claim({ pods: ['p1', 'p2'], zones: ['a', 'b'] })]),
      breaks: [],
    },
    {
      says: 'a pod with affinity by zone in one zone, and pods that it selects, without affinity, in two',
      objects: [pool, app('p1', affinity(zoneKey)), app('p2')],
      plan: plan(apart(['a', 'b'])),
      breaks: [],
    },
    {
      says: 'a pod with affinity by hostname on one node and one with affinity by zone on another',
      objects: [pool, app('p1', affinity(zoneKey)), app('p2', affinity(hostnameKey))],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
    {
      says: 'pods of two apps, each with affinity for the other alone',
      objects: [pool, app('p1', affinity(zoneKey, 'db')), app('p2', affinity(zoneKey), 'db')],
      plan: plan([claim({ pods: ['p1', 'p2'] })]),
      breaks: ['pod-affinity'],
    },
    {
      says: 'affinity for pods that do not exist',
      objects: [pool, app('p1', affinity(zoneKey, 'db'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-affinity'],
    },
    {
      says: 'affinity for a running pod in the same zone',
      objects: [pool, ...node('n1'), app('r1', { nodeName: 'n1' }, 'db'), app('p1', affinity(zoneKey, 'db'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'affinity for a pod that is terminating',
      objects: [pool, ...node('n1'), ending(app('r1', { nodeName: 'n1' }, 'db')), app('p1', affinity(zoneKey, 'db'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-affinity'],
    },
    {
      says: 'affinity for a running pod in another zone',
      objects: [pool, ...node('n1', 'b'), app('r1', { nodeName: 'n1' }, 'db'), app('p1', affinity(zoneKey, 'db'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-affinity'],
    },
  ],
  spread: [
    {
      says: 'two pods on one node whose spread constraints differ in nodeTaintsPolicy and select both',
      objects: [
        pool,
        ...node('n1'),
        app('p1', spread('kubernetes.io/hostname')),
        app('p2', spread('kubernetes.io/hostname', { nodeTaintsPolicy: 'Honor' })),
      ],
      plan: plan([both]),
      breaks: ['topology-spread'],
    },
    {
      says: 'two pods on one node with maxSkew 1 and 2: they may bind in this order',
      objects: [
        pool,
        app('p1', spread('kubernetes.io/hostname')),
        app('p2', spread('kubernetes.io/hostname', { maxSkew: 2 })),
      ],
      plan: plan([both]),
      breaks: [],
    },
    {
      says: 'all pods in the one zone that NodePools allow',
      objects: [
        nodePool('default', { labels: { [zoneKey]: 'a' } }),
        app('p1', spread(zoneKey)),
        app('p2', spread(zoneKey)),
      ],
      plan: plan([claim({ pods: ['p1', 'p2'] })]),
      breaks: [],
    },
    {
      says: 'a pod in the zone of a terminating pod, which does not count',
      objects: [pool, ...node('n1'), ending(app('r1', { nodeName: 'n1' })), app('p1', spread(zoneKey))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'two pods in one zone where the other has a terminating pod alone',
      objects: [
        pool,
        ...node('n1', 'b'),
        ending(app('r1', { nodeName: 'n1' })),
        app('p1', spread(zoneKey)),
        app('p2', spread(zoneKey)),
      ],
      plan: plan(apart(['a', 'a'])),
      breaks: ['topology-spread'],
    },
    {
      says: 'two pods in two zones',
      objects: [pool, app('p1', spread(zoneKey)), app('p2', spread(zoneKey))],
      plan: plan(apart(['a', 'b'])),
      breaks: [],
    },
    {
      says: 'two pods in one zone, none in the other',
      objects: [pool, app('p1', spread(zoneKey)), app('p2', spread(zoneKey))],
      plan: plan(apart(['a', 'a'])),
      breaks: ['topology-spread'],
    },
    {
      says: 'two pods in one zone with maxSkew 2',
      objects: [pool, app('p1', spread(zoneKey, { maxSkew: 2 })), app('p2', spread(zoneKey, { maxSkew: 2 }))],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
    {
      says: 'two pods in the one zone that their node selector allows',
      objects: [
        pool,
        ...['p1', 'p2'].map((name) => app(name, { ...spread(zoneKey), nodeSelector: { [zoneKey]: 'a' } })),
      ],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
    {
      says: 'two pods in the one zone that their node selector allows, with nodeAffinityPolicy Ignore',
      objects: [
        pool,
        ...['p1', 'p2'].map((name) =>
          app(name, { ...spread(zoneKey, { nodeAffinityPolicy: 'Ignore' }), nodeSelector: { [zoneKey]: 'a' } }),
        ),
      ],
      plan: plan(apart(['a', 'a'])),
      breaks: ['topology-spread'],
    },
    {
      says: 'three pods in two zones with minDomains 3',
      objects: [pool, ...['p1', 'p2', 'p3'].map((name) => app(name, spread(zoneKey, { minDomains: 3 })))],
      plan: plan([...apart(['a', 'b']), claim({ pods: ['p3'] })]),
      breaks: ['topology-spread'],
    },
    {
      says: 'a pod in the zone of a running pod that its constraint selects',
      objects: [pool, ...node('n1'), app('r1', { nodeName: 'n1' }), app('p1', spread(zoneKey))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['topology-spread'],
    },
    {
      says: 'two pods in one zone of which one has no constraint and may bind last',
      objects: [pool, app('p1', spread(zoneKey)), app('p2')],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
    {
      says: 'two pods, one on a claim that allows two zones',
      objects: [pool, app('p1', spread(zoneKey)), app('p2', spread(zoneKey))],
      plan: plan([claim({ pods: ['p1'] }), claim({ pods: ['p2'], zones: ['a', 'b'] })]),
      breaks: ['topology-spread'],
    },
    {
      says: 'two pods on one node while another is empty, spread by hostname',
      objects: [pool, ...['p1', 'p2'].map((name) => app(name, spread(hostnameKey))), ...node('n1')],
      plan: plan([both]),
      breaks: ['topology-spread'],
    },
    {
      says: 'two pods in one zone that differ in a matchLabelKeys label',
      objects: [
        pool,
        ...['p1', 'p2'].map((name) =>
          pod(name, { app: 'web', hash: name }, small, spread(zoneKey, { matchLabelKeys: ['hash'] })),
        ),
      ],
      plan: plan(apart(['a', 'a'])),
      breaks: [],
    },
  ],
  volumes: [
    {
      says: "a pod in its volume's zone",
      objects: [pool, ...boundVolume('v', 'a'), app('p1', volume('v'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: "a pod in another zone than its volume's",
      objects: [pool, ...boundVolume('v', 'b'), app('p1', volume('v'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['volumes'],
    },
    {
      says: 'two volumes on a node whose CSI driver allows one',
      objects: [
        pool,
        ...node('n1'),
        csiNode('n1', 1),
        ...boundVolume('v', 'a'),
        ...boundVolume('w', 'a'),
        app('p1', volume('v')),
        app('p2', volume('w')),
      ],
      plan: plan([], { existingNodes: [on('n1', 'p1', 'p2')] }),
      breaks: ['volumes'],
    },
    {
      says: 'a CSI volume and an in-tree volume of the same driver on a node that allows one',
      objects: [
        pool,
        ...node('n1'),
        csiNode('n1', 1),
        ...boundVolume('v', 'a'),
        ...boundVolume('w', 'a', { spec: { awsElasticBlockStore: { volumeID: 'w' } } }),
        app('p1', volume('v')),
        app('p2', volume('w')),
      ],
      plan: plan([], { existingNodes: [on('n1', 'p1', 'p2')] }),
      breaks: ['volumes'],
    },
    {
      says: 'a volume that is being deleted',
      objects: [
        pool,
        ...boundVolume('v', 'a', { metadata: { name: 'pv-v', deletionTimestamp: '2026-01-01T00:00:00Z' } }),
        app('p1', volume('v')),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['volumes'],
    },
    {
      says: 'two pods with one volume on a node whose CSI driver allows one',
      objects: [
        pool,
        ...node('n1'),
        csiNode('n1', 1),
        ...boundVolume('v', 'a'),
        app('p1', volume('v')),
        app('p2', volume('v')),
      ],
      plan: plan([], { existingNodes: [on('n1', 'p1', 'p2')] }),
      breaks: [],
    },
  ],
  pools: [
    {
      says: 'a node within spec.limits',
      objects: [nodePool('default', { limits: { cpu: '2' } }), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a node beyond spec.limits, counting existing nodes',
      objects: [nodePool('default', { limits: { cpu: '3' } }), ...node('n1'), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['limits'],
    },
    {
      says: 'two nodes where limits.nodes is 1',
      objects: [nodePool('default', { limits: { nodes: '1' } }), ...two],
      plan: plan(apart(['a', 'a'])),
      breaks: ['limits'],
    },
    {
      says: 'a pod in a NodePool of lower weight than another that could launch for it',
      objects: [pool, nodePool('heavy', { weight: 5 }), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['weight'],
    },
    {
      says: 'a pod on the node of another pod that fits only the NodePool of lower weight',
      objects: [pool, smallTypes('heavy'), app('p1'), pod('large', { app: 'large' }, requestsOf('6', '1Gi'))],
      plan: plan([claim({ pods: ['p1', 'large'], types: ['r-8x'] })]),
      breaks: [],
    },
    {
      says: 'pods in the NodePool of lower weight though all of them fit the other',
      objects: [pool, smallTypes('heavy'), app('p1'), app('p2')],
      plan: plan([claim({ pods: ['p1', 'p2'], types: ['r-8x'] })]),
      breaks: ['weight'],
    },
    {
      says: 'a pod in a NodePool of lower weight where limits and taints exclude the others',
      objects: [
        pool,
        nodePool('limited', { weight: 5, limits: { cpu: '1' } }),
        nodePool('tainted', { weight: 6, taints: [{ key: 'gpu', effect: 'NoSchedule' }] }),
        nodePool('avoided', { weight: 7, taints: [{ key: 'slow', effect: 'PreferNoSchedule' }] }),
        app('p1'),
      ],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'minValues 2 of families with two families',
      objects: [
        nodePool('default', { requirements: [{ key: kwok.family, operator: 'Exists', minValues: 2 }] }),
        app('p1'),
      ],
      plan: plan([claim({ pods: ['p1'], types: ['m-2x', 'r-8x'] })]),
      breaks: [],
    },
    {
      says: 'minValues 2 of families with one family',
      objects: [
        nodePool('default', { requirements: [{ key: kwok.family, operator: 'Exists', minValues: 2 }] }),
        app('p1'),
      ],
      plan: plan([claim({ pods: ['p1'], types: ['m-2x', 'm-4x'] })]),
      breaks: ['min-values'],
    },
    {
      says: 'minValues 2 of zones where the node selector of the pods allows one',
      objects: [
        nodePool('default', { requirements: [{ key: zoneKey, operator: 'Exists', minValues: 2 }] }),
        app('p1', { nodeSelector: { [zoneKey]: 'a' } }),
      ],
      plan: plan([claim({ pods: ['p1'], zones: ['a'] })]),
      breaks: [],
    },
    {
      says: 'minValues 2 of zones of which the NodePool allows one',
      objects: [
        nodePool('default', { requirements: [{ key: zoneKey, operator: 'NotIn', values: ['a'], minValues: 2 }] }),
        app('p1'),
      ],
      plan: plan([claim({ pods: ['p1'], zones: ['b'] })]),
      breaks: ['min-values'],
    },
    {
      says: 'minValues 2 of families with one family and the annotation nodeclaim-min-values-relaxed',
      objects: [
        nodePool('default', { requirements: [{ key: kwok.family, operator: 'Exists', minValues: 2 }] }),
        app('p1'),
      ],
      plan: plan([
        {
          ...claim({ pods: ['p1'], types: ['m-2x', 'm-4x'] }),
          annotations: { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' },
        },
      ]),
      breaks: [],
    },
    {
      says: 'a price that is not that of the cheapest offering',
      objects: [pool, app('p1')],
      plan: plan([
        {
          ...claim({
            pods: ['p1'],
            cheapest: { instanceType: 'm-2x', zone: 'a', capacityType: 'on-demand', pricePerHour: 0.1 },
          }),
          requirements: [inValues(zoneKey, 'a')],
        },
      ]),
      breaks: ['price'],
    },
    {
      says: 'two PersistentVolumeClaims of a no-provisioner class with one volume in the zone',
      objects: [pool, ...staticVolumes('b'), ...two.map((each, i) => claiming(each, `c${i}`)), ...staticClaims(2)],
      plan: plan([claim({ pods: ['p1', 'p2'], zones: ['b'] })]),
      breaks: ['volumes'],
    },
    {
      says: 'two PersistentVolumeClaims of a no-provisioner class with a volume in each zone',
      objects: [pool, ...staticVolumes('a', 'b'), ...two.map((each, i) => claiming(each, `c${i}`)), ...staticClaims(2)],
      plan: plan([claim({ pods: ['p1'], zones: ['b'] }), claim({ pods: ['p2'] })]),
      breaks: [],
    },
    {
      says: 'two pods with one ReadWriteOncePod volume',
      objects: [
        pool,
        ...two.map((each) => claiming(each, 'c0')),
        ...staticVolumes('a'),
        ...staticClaims(1, 'ReadWriteOncePod'),
      ],
      plan: plan([claim({ pods: ['p1', 'p2'] })]),
      breaks: ['volumes'],
    },
    {
      says: 'a pod whose anti-affinity selects the pods of a DaemonSet',
      objects: [pool, agent(), app('p1', everywhere(antiAffinity(zoneKey, 'agent')))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'a pod that the anti-affinity of a DaemonSet selects',
      objects: [pool, agent(everywhere(antiAffinity(hostnameKey))), app('p1')],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'a pod with affinity for the pods of a DaemonSet',
      objects: [pool, agent(), app('p1', everywhere(affinity(hostnameKey, 'agent')))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: [],
    },
    {
      says: 'a pod with affinity for a DaemonSet that runs on one of the two types of the claim',
      objects: [
        pool,
        agent({ nodeSelector: { 'node.kubernetes.io/instance-type': 'm-2x' } }),
        app('p1', everywhere(affinity(hostnameKey, 'agent'))),
      ],
      plan: plan([claim({ pods: ['p1'], types: ['m-2x', 'm-4x'] })]),
      breaks: ['pod-affinity'],
    },
    {
      says: 'a pod whose anti-affinity by zone selects a DaemonSet on another new node of the zone',
      objects: [
        pool,
        agent({ nodeSelector: { 'node.kubernetes.io/instance-type': 'm-4x' } }),
        app('p1', everywhere(antiAffinity(zoneKey, 'agent'))),
        app('p2'),
      ],
      plan: plan([claim({ pods: ['p1'], types: ['m-2x'] }), claim({ pods: ['p2'], types: ['m-4x'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'a pod whose anti-affinity selects a pod that stays on a draining node of the zone',
      objects: [pool, ...draining, app('r1', { nodeName: 'n1' }, 'db'), app('p1', antiAffinity(zoneKey, 'db'))],
      plan: plan([claim({ pods: ['p1'] })]),
      breaks: ['pod-anti-affinity'],
    },
    {
      says: 'a pod whose anti-affinity selects a pod that the plan moves off a draining node',
      objects: [pool, ...draining, app('r1', { nodeName: 'n1' }, 'db'), app('p1', antiAffinity(zoneKey, 'db'))],
      plan: plan([claim({ pods: ['p1'] }), claim({ pods: ['r1'], zones: ['b'] })]),
      breaks: [],
    },
    {
      says: 'a total price that is not the sum of its nodes',
      objects: [pool, app('p1')],
      plan: plan([claim({ pods: ['p1'] })], { pricePerHour: 1 }),
      breaks: ['price'],
    },
    {
      says: 'an offering that the catalogue does not have',
      objects: [pool, app('p1')],
      plan: plan([
        claim({
          pods: ['p1'],
          zones: ['c'],
          cheapest: { instanceType: 'm-2x', zone: 'c', capacityType: 'spot', pricePerHour: 0.05 },
        }),
      ]),
      breaks: ['no-offering', 'price'],
    },
    {
      says: "a lower bound above the plan's price",
      objects: [pool, app('p1')],
      plan: plan([claim({ pods: ['p1'] })], { lowerBoundPerHour: 1 }),
      breaks: ['lower-bound'],
    },
  ],
};

describe.each(Object.entries(examples))('checkPlan, %s', (_name, cases) => {
  const verdict = ({ breaks }: Example): string => (breaks.length === 0 ? 'accepts' : `reports ${breaks.join(', ')}`);
  test.each(cases.map((each) => [verdict(each), each.says, each] as const))('%s: %s', (_verdict, _says, example) => {
    const { violations } = checkPlan({ items: example.objects }, catalogue, example.plan);
    expect([...new Set(violations.map(({ rule }) => rule))].sort()).toEqual([...example.breaks].sort());
  });
});

describe("lowerBound of a plan's price", () => {
  const bound = (pods: number): number => {
    const names = Array.from({ length: pods }, (_, i) => `p${i}`);
    const claims = Array.from({ length: Math.ceil(pods / 2) }, (_, i) =>
      claim({ pods: names.slice(2 * i, 2 * i + 2) }),
    );
    return checkPlan({ items: [pool, ...names.map((name) => app(name))] }, catalogue, plan(claims)).lowerBound;
  };

  test('is the fractional price of the resource that costs most', () => {
    expect(bound(2)).toBeCloseTo(0.05, 9);
    expect(bound(3)).toBeCloseTo(0.075, 9);
  });

  test('counts free resources of existing nodes at no price', () => {
    const items = [pool, ...node('n1'), ...two, app('p3')];
    const verdict = checkPlan(
      { items },
      catalogue,
      plan([claim({ pods: ['p3'] })], { existingNodes: [on('n1', 'p1', 'p2')] }),
    );
    expect(verdict.violations).toEqual([]);
    expect(verdict.lowerBound).toBeCloseTo(0.025, 9);
  });
});

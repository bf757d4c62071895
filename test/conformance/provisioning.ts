import type { KubernetesObject } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { daemonSet } from '../cases/objects.js';
import type { CatalogueEntry } from '../checker/types.js';
import { plans, type Expected } from './plans.js';
import { about, differs, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';
import { antiAffinity, likesAffinity, likesAntiAffinity, spread } from './topology-terms.js';
import {
  growingTypes,
  node,
  noneOf,
  oneOf,
  op,
  pod,
  pods,
  pool,
  poolOf,
  size,
  type,
  zone1,
  zone2,
  zone3,
  type PodOptions,
} from './world.js';

const { zone, instanceType, arch, os, capacityType: capacity, hostname, nodePool } = labels;
const one = (options: PodOptions, expected: Expected, ...others: (KubernetesObject | KubernetesObject[])[]): Check =>
  plans({ objects: [...others, pod('p', options)] }, expected);
const left: Expected = { left: ['p'], nodes: 0 };
const bought = (name: string): Expected => ({ nodes: 1, by: { [instanceType]: { [name]: 1 } } });
const deleted = { ...pool(), metadata: { ...pool().metadata, deletionTimestamp: '2026-01-01T12:00:00Z' } };

const good = { [nodePool]: 'default', [zone]: zone1, [instanceType]: 'default', [arch]: 'arm64', [os]: 'linux' };
const bad = {
  [nodePool]: 'no',
  [zone]: 'no',
  [instanceType]: 'no',
  [arch]: 'no',
  [os]: 'no',
  [capacity]: 'no',
  'example.com/foo': 'no',
};
const selecting = (ask: (key: string, value: string) => PodOptions): Check =>
  plans(
    {
      objects: [
        ...Object.entries(good).map(([key, value], i) => pod(`good-${i}`, ask(key, value))),
        ...Object.entries(bad).map(([key, value], i) => pod(`bad-${i}`, ask(key, value))),
      ],
    },
    { left: Object.keys(bad).map((_, i) => `bad-${i}`) },
  );

const container = (cpu: string, memory: string, more: object = {}) => ({
  name: `c${cpu}`,
  image: 'registry.k8s.io/pause:3.10',
  resources: { requests: { cpu, memory } },
  ...more,
});
const sidecar = (cpu: string, memory: string) => container(cpu, memory, { restartPolicy: 'Always' });
const steps: readonly CatalogueEntry[] = [10, 11, 12].map((cpu) => type(`t${cpu}`, { cpu, memory: cpu - 6 }));
const withInit = (cpu: string, memory: string, initContainers: object[], more: object = {}): Check =>
  plans(
    { catalogue: steps, objects: [pod('p', { cpu, memory, initContainers: initContainers as never, ...more })] },
    { by: { [instanceType]: { t11: 1 } } },
  );

export const nodeCases: readonly ConformanceCase[] = about('provisioning nodes', [
  notApplicable(
    [119, 137, 177],
    'the window in which pods are gathered',
    'a timer of a workflow, which workflows/provisioning tests (provisioning/batch-window)',
  ),
  same(225, 'a pod gets a node', one({}, { nodes: 1 })),
  same(236, 'a hundred pods get nodes', plans({ objects: pods(100) })),
  notApplicable(
    [247, 259, 270],
    'terminationGracePeriod of a claim',
    'claims are written by activities/provisioning, whose tests have it; a plan says nothing of it',
  ),
  same([283, 294], 'a NodePool that is being deleted launches nothing', one({}, left, deleted)),
  notApplicable(
    [308, 322],
    'when a pod was planned for a pool that is healthy',
    'a metric; docs/metrics.md says what is measured',
  ),
  same(
    336,
    'satisfiable and unsatisfiable node selectors',
    selecting((key, value) => ({ nodeSelector: { [key]: value } })),
  ),
  same(
    376,
    'satisfiable and unsatisfiable node affinity',
    selecting((key, value) => ({ needs: [oneOf(key, value)] })),
  ),
  same(
    416,
    'accelerators of two makers',
    plans(
      {
        objects: ['a', 'b'].map((maker) => pod(maker, { requests: { [`example.com/vendor-${maker}`]: '1' } })),
      },
      { nodes: 2, by: { [instanceType]: { 'gpu-a': 1, 'gpu-b': 1 } } },
    ),
  ),
  same(
    431,
    'a type that holds one pod',
    plans({ objects: [poolOf(oneOf(instanceType, 'single-pod')), ...pods(3)] }, { sizes: [1, 1, 1] }),
  ),
  notApplicable(
    460,
    'a pool that changes while its claims are made',
    'the hash is taken with the plan; activities/provisioning tests it',
  ),
  same(
    492,
    'pending pods and those of a deleting node share a new node',
    plans(
      {
        objects: [
          node('n').map((each) => ({
            ...each,
            metadata: { ...each.metadata, deletionTimestamp: '2026-01-01T12:00:00Z' },
          })),
          ...pods(3, { nodeName: 'n' }, 'r'),
          ...pods(2),
        ],
      },
      { existing: {}, sizes: [5] },
    ),
  ),
  same(
    532,
    'a sidecar after an init container',
    withInit('6', '2Gi', [container('10', '4Gi'), sidecar('4.9', '2.9Gi')]),
  ),
  same(
    583,
    'a sidecar before a small init container',
    withInit('6', '2Gi', [sidecar('4.9', '2.9Gi'), container('5', '1Gi')]),
  ),
  same(
    634,
    'a sidecar before a large init container',
    withInit('5', '1Gi', [sidecar('4.9', '2.9Gi'), container('6', '2Gi')]),
  ),
  same(
    685,
    'pod-level resources',
    plans(
      {
        catalogue: steps,
        objects: [
          pod('p', {
            cpu: '5',
            memory: '1Gi',
            resources: { requests: { cpu: '9.9', memory: '3.9Gi' } },
            initContainers: [container('6', '2Gi'), sidecar('4', '2Gi')],
          }),
        ],
      },
      { by: { [instanceType]: { t10: 1 } } },
    ),
  ),
]);

const limited = (limits: Record<string, string>): KubernetesObject => pool({ limits });
const apart: PodOptions = { labels: { app: 'x' }, cpu: '1.5', ...antiAffinity('x', hostname) };
const smallNode = { cpu: '2', memory: '2Gi', pods: '5' };
const runs = (name: string) => [
  node(name, { allocatable: smallNode }),
  pod(`on-${name}`, { ...apart, nodeName: name }),
];

export const limitCases: readonly ConformanceCase[] = about('limits of a NodePool', [
  same(
    742,
    'that are used up launch nothing',
    one({}, left, limited({ cpu: '20' }), node('n', { allocatable: { cpu: '100', pods: '0' } })),
  ),
  same(765, 'that the smallest type fits', one({ cpu: '1.75' }, bought('small'), limited({ cpu: '2' }))),
  same(
    782,
    'for one of two nodes',
    partly(plans({ objects: [limited({ cpu: '3' }), ...pods(2, apart)] }, { sizes: [1] }), 1),
  ),
  same(832, 'below what the pod requests', one({ cpu: '2.1' }, left, limited({ cpu: '2' }))),
  same(
    847,
    'of pods below what the type holds',
    one({ requests: { 'example.com/vendor-a': '1' } }, left, limited({ pods: '1' })),
  ),
  same(863, 'that the previous pass used up', one(apart, left, limited({ cpu: '2' }), ...runs('n'))),
  same(891, 'limits.nodes', one(apart, left, limited({ nodes: '2' }), ...runs('a'), ...runs('b'))),
]);

/** Which of equal pods are left does not matter, but how many. */
function partly(check: Check, count: number): Check {
  const read = (value: unknown): unknown => ({ ...(value as object), left: (value as { left: string[] }).left.length });
  return { outcome: () => read(check.outcome()), expected: { ...(check.expected as object), left: count } };
}

const small: PodOptions = { cpu: '1', memory: '1Gi' };
const daemon = (cpu: string, spec: object = {}, name = 'd') => daemonSet(name, { cpu, memory: '2Gi' }, spec);
const beside = (
  set: KubernetesObject,
  expected: string,
  options: PodOptions = {},
  ...others: KubernetesObject[]
): Check => one({ ...small, ...options }, bought(expected), ...others, set);
const affinityOf = (kind: string, value: unknown): object => ({ affinity: { nodeAffinity: { [kind]: value } } });
const needing = (...terms: ReturnType<typeof oneOf>[]): object =>
  affinityOf('requiredDuringSchedulingIgnoredDuringExecution', {
    nodeSelectorTerms: terms.map((term) => ({ matchExpressions: [term] })),
  });
const ports = (port: number) => [container('2', '1Gi', { ports: [{ containerPort: port, hostPort: port }] })];
const withPort = (name: string, port: number, spec: object): KubernetesObject => {
  const set = daemonSet(name, {}, spec);
  const template = { ...set.spec.template, spec: { ...set.spec.template.spec, containers: ports(port) } };
  return { ...set, spec: { ...set.spec, template } } as KubernetesObject;
};
const owned = (set: string, cpu: string, options: PodOptions = {}): KubernetesObject =>
  pod(`${set}-1`, {
    cpu,
    memory: '1Gi',
    nodeName: 'elsewhere',
    namespace: 'kube-system',
    ...options,
    metadata: {
      name: `${set}-1`,
      namespace: 'kube-system',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: set, uid: `ds-${set}`, controller: true }],
    },
  });
const withInits = (cpu: string, memory: string, initCpu: string, initMemory: string): KubernetesObject => {
  const set = daemonSet('d', { cpu, memory });
  const spec = { ...set.spec.template.spec, initContainers: [container(initCpu, initMemory)] };
  return { ...set, spec: { ...set.spec, template: { ...set.spec.template, spec } } } as KubernetesObject;
};
const taint = { key: 'example.com/t', value: 'v', effect: 'NoSchedule' } as const;

const withLimits = (): KubernetesObject => {
  const set = daemonSet('d', {});
  const own = { name: 'main', resources: { requests: { cpu: '750m' }, limits: { cpu: '1', memory: '10000Gi' } } };
  const spec = { ...set.spec.template.spec, containers: [own], initContainers: [{ ...own, name: 'init' }] };
  return { ...set, spec: { ...set.spec, template: { ...set.spec.template, spec } } } as KubernetesObject;
};

export const daemonPodCases: readonly ConformanceCase[] = about('DaemonSet pods', [
  notApplicable(37, 'each virtual pod of a DaemonSet has its own UID', 'DaemonSets are read without virtual pods'),
  same(58, 'get limits as requests that their containers lack', one({}, left, withLimits())),
]);

export const daemonCases: readonly ConformanceCase[] = about('provisioning beside DaemonSets', [
  same(935, 'DaemonSets take room on each new node', beside(daemon('2'), 'default')),
  same(
    956,
    'a host port of a DaemonSet excludes pods with it',
    one({ ...small, ports: [{ hostPort: 8080 }] }, left, withPort('d', 8080, {})),
  ),
  same(
    974,
    'they take room though the pool has startup taints',
    beside(daemon('2'), 'default', {}, pool({ startupTaints: [taint] })),
  ),
  same(1004, 'a DaemonSet larger than every type', one({}, left, daemonSet('d', { cpu: '10000', memory: '10000Gi' }))),
  same(
    1014,
    'the requests of its running pods count, not the template',
    beside(daemonSet('d', { cpu: '4', memory: '4Gi' }), 'default', {}, owned('d', '2')),
  ),
  same([1057], 'limits count as absent requests', one({}, left, daemonSet('d', { cpu: '1', memory: '10000Gi' }))),
  same(1070, 'an init container of a DaemonSet', one({}, bought('default'), withInits('1', '1Gi', '3', '3Gi'))),
  same(
    [1098, 1119],
    'an init container of a DaemonSet larger than every type',
    one({}, left, withInits('1', '1Gi', '1', '10000Gi')),
  ),
  same(1135, 'a DaemonSet that requests nothing', one({}, { nodes: 1 }, daemonSet('d', {}))),
  same(
    1143,
    "a DaemonSet that does not tolerate the pool's taints",
    beside(daemon('2'), 'small', { tolerations: [{ operator: 'Exists' }] }, pool({ taints: [taint] })),
  ),
  same(1175, 'a DaemonSet for other nodes', beside(daemon('2', { nodeSelector: { node: 'invalid' } }), 'small')),
  same(1197, 'a DaemonSet for a missing type', beside(daemon('2', needing(oneOf(instanceType, 'no'))), 'small')),
  same(
    1219,
    'a DaemonSet for a label of the pool',
    beside(
      daemon('2', { nodeSelector: { purpose: 'monitoring' } }),
      'default',
      {},
      pool({ labels: { purpose: 'monitoring' } }),
    ),
  ),
  same(
    1246,
    'DaemonSets by the size of the type',
    one(
      { cpu: '2', memory: '1Gi' },
      bought('default'),
      daemonSet('d', { cpu: '1' }, needing(oneOf(size, 'small'))),
      daemonSet('e', { cpu: '10' }, needing(oneOf(size, 'large'))),
    ),
  ),
  same(
    1276,
    'a DaemonSet with NotIn on an absent label',
    beside(daemon('2', needing(noneOf('example.com/foo', 'bar') as never)), 'default', { needs: [oneOf(zone, zone2)] }),
  ),
  same(
    1299,
    'the host name of a DaemonSet pod is ignored',
    beside(
      daemonSet('d', { cpu: '4', memory: '4Gi' }, { nodeSelector: { foo: 'bar' } }),
      'default',
      { nodeSelector: { foo: 'bar' } },
      pool({ labels: { foo: 'bar' } }),
      owned('d', '2', {
        nodeSelector: { foo: 'bar' },
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['elsewhere'] }] }],
            },
          },
        } as never,
      }),
    ),
  ),
  same(
    1371,
    'one of several terms of a DaemonSet is enough',
    beside(
      daemon('2', needing(oneOf('foo', 'voo'), oneOf('foo', 'bar'))),
      'default',
      {},
      pool({ labels: { foo: 'bar' } }),
    ),
  ),
  same(
    1431,
    'an unsatisfiable preference of a DaemonSet',
    beside(
      daemon(
        '2',
        affinityOf('preferredDuringSchedulingIgnoredDuringExecution', [
          { weight: 1, preference: { matchExpressions: [oneOf('node', 'invalid')] } },
        ]),
      ),
      'default',
    ),
  ),
  same(
    1459,
    'a PreferNoSchedule taint does not exclude a DaemonSet',
    beside(daemon('2'), 'default', {}, pool({ taints: [{ key: 'example.com/t', effect: 'PreferNoSchedule' }] })),
  ),
  same(
    1496,
    'a host port of a DaemonSet that does not run on the type',
    one(
      { ...small, cpu: '1.5', needs: [oneOf(size, 'small')], ports: [{ hostPort: 8080 }] },
      bought('default'),
      withPort('d', 8080, needing(oneOf(size, 'large'))),
      withPort('e', 8081, needing(oneOf(size, 'small'))),
    ),
  ),
]);

const claims = 'claims are written by activities/provisioning, whose tests have it';
const tolerating = (toleration: object): PodOptions => ({ tolerations: [toleration] });
const tainted = pool({ taints: [{ key: 'nvidia.com/gpu', value: 'true', effect: 'NoSchedule' }] });
const listed = (requirements: Parameters<typeof poolOf>, options: PodOptions, names: readonly string[]): Check => ({
  ...plans({ objects: [poolOf(...requirements), pod('p', options)] }, { types: names }),
});

export const claimCases: readonly ConformanceCase[] = about('the planned NodeClaim', [
  notApplicable([1528, 1867, 1885], 'annotations, owner and node class of a claim', claims),
  same(
    1546,
    'has labels from labels and requirements of the pool',
    one(
      {},
      { by: { a: { x: 1 }, b: { y: 1 }, c: { z: 1 }, [nodePool]: { default: 1 } } },
      pool({ labels: { a: 'x' }, requirements: [oneOf('b', 'y'), op('c', 'In', 'z')] }),
    ),
  ),
  same(
    [1579, 1601],
    "has labels in and below Kubernetes' domains",
    one(
      {},
      { by: { 'kubernetes.io/test': { a: 1 }, 'sub.k8s.io/test': { b: 1 } } },
      poolOf(oneOf('kubernetes.io/test', 'a'), oneOf('sub.k8s.io/test', 'b')),
    ),
  ),
  notApplicable(1623, 'well-known labels of requirements are not written', claims),
  same(
    1645,
    'tolerations by key, by value and by effect',
    plans(
      {
        objects: [
          tainted,
          pod('a', tolerating({ key: 'nvidia.com/gpu', operator: 'Equal', value: 'true', effect: 'NoSchedule' })),
          pod('b', tolerating({ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' })),
          pod('c', tolerating({ key: 'nvidia.com/gpu', operator: 'Exists' })),
          pod('d', tolerating({ operator: 'Exists' })),
          pod('e'),
          pod('f', tolerating({ key: 'invalid', operator: 'Exists' })),
          pod('g', tolerating({ key: 'nvidia.com/gpu', operator: 'Equal', value: 'false', effect: 'NoSchedule' })),
        ],
      },
      { sizes: [4], left: ['e', 'f', 'g'] },
    ),
  ),
  same(1695, 'lists the types that fit', listed([], {}, ['arm', 'default', 'gpu-a', 'gpu-b', 'single-pod', 'small'])),
  notApplicable(1716, 'the claim has the requirements of the pool', claims),
  same(1766, 'lists types of the architecture', listed([oneOf(arch, 'arm64')], {}, ['arm'])),
  same(1803, 'lists types of the operating system', listed([oneOf(os, 'ios')], {}, ['arm'])),
  same(1840, 'lists types that hold the pod', listed([], { requests: { 'example.com/vendor-a': '1' } }, ['gpu-a'])),
  same(1913, 'has the requests of its pods', requests([], { cpu: 1000, memory: 2 ** 20 })),
  same(
    [1939, 1959],
    'has the requests of DaemonSets once',
    requests([daemonSet('d', { cpu: '1', memory: '1Mi' })], { cpu: 2000, memory: 2 ** 21 }),
  ),
]);

function requests(others: readonly KubernetesObject[], expected: Readonly<Record<string, number>>): Check {
  return plans({ objects: [...others, ...pods(2, { cpu: '500m', memory: '512Ki' })] }, { requests: expected });
}

const ignoring = { preferencePolicy: 'Ignore' } as const;
const app = { labels: { app: 'x' } };
const preferring = (options: PodOptions): Check =>
  plans({ objects: pods(5, { ...app, ...options }), settings: ignoring }, { nodes: 1 });
const anyway = (topologyKey: string) => spread({ topologyKey, whenUnsatisfiable: 'ScheduleAnyway' });
/** A preference for zone 2, where a node would cost more. */
const towards = (options: PodOptions): Check =>
  plans(
    {
      objects: [
        pod('a', { cpu: '2', nodeSelector: { [zone]: zone1 } }),
        ...pods(2, { labels: { app: 'bar' }, cpu: '3', nodeSelector: { [zone]: zone2 } }, 'b'),
        pod('c', { cpu: '1', ...options }),
      ],
      settings: ignoring,
      catalogue: growingTypes(3),
    },
    // Three CPUs hold the first and the last, or one of the others.
    { nodes: 3, price: 3 * 0.9 },
  );
const weighted = [pool({}, 'light'), pool({ weight: 20 }, 'middle'), pool({ weight: 100 }, 'heavy')];
const onPool = (name: string, count: number): Expected => ({ by: { [nodePool]: { [name]: count } } });
const invalid = oneOf(zone, 'invalid');
const prefer = { key: 'example.com/t', effect: 'PreferNoSchedule' } as const;

export const choiceCases: readonly ConformanceCase[] = about('choice of NodePool and preferences', [
  same(2389, 'the last required term is never relaxed', one({ either: [[invalid]] }, left, poolOf(oneOf(zone, zone1)))),
  differs(
    2410,
    'unsatisfiable terms of several required ones are relaxed',
    'scheduling/relaxation',
    'any term that can be met will do, the cheapest of them; under Karpenter it is the first',
    one({ either: [[invalid], [invalid], [oneOf(zone, zone1)], [oneOf(zone, zone2)]] }, { nodes: 1, price: 0.4 }),
  ),
  same(
    2434,
    'every preference is relaxed if needed',
    one({ likes: [invalid, oneOf(instanceType, 'invalid')] }, { nodes: 1 }),
  ),
  same(
    2453,
    'a lighter preference is kept',
    one(
      {
        likes: [
          { ...oneOf(instanceType, zone3), weight: 100 },
          { ...oneOf(zone, zone2), weight: 50 },
          { ...oneOf(zone, zone1), weight: 1 },
        ],
      },
      { by: { [zone]: { [zone2]: 1 } } },
      poolOf(oneOf(zone, zone1, zone2)),
    ),
  ),
  same(
    2487,
    'a PreferNoSchedule taint is accepted last',
    one({ likes: [invalid, oneOf(instanceType, 'invalid')] }, { nodes: 1 }, pool({ taints: [prefer] })),
  ),
  ...[zone, hostname].map((key, i) =>
    same(
      [2558, 2559][i]!,
      `a preference for a value of ${key} that there is not adds no node`,
      plans(
        { objects: [pod('a', { cpu: '2' }), pod('b', { cpu: '1', likes: [oneOf(key, 'value-1')] })] },
        { nodes: 1 },
      ),
    ),
  ),
  same(2566, 'preferences add no node under Ignore', towards({ likes: [oneOf(zone, zone2)] })),
  ...[zone, hostname].flatMap((key, i) => [
    same([2660, 2661][i]!, `nor does ScheduleAnyway by ${key}`, preferring(anyway(key))),
    same([2694, 2695][i]!, `nor does preferred anti-affinity by ${key}`, preferring(likesAntiAffinity('x', key))),
    same([2767, 2768][i]!, `nor does preferred affinity by ${key}`, towards(likesAffinity('bar', key))),
  ]),
  same(2773, 'a pool selected by name', one({ nodeSelector: { [nodePool]: 'default' } }, onPool('default', 1))),
  same(
    2781,
    'a pool selected by labels',
    one({ nodeSelector: { foo: 'bar' } }, onPool('second', 1), pool(), pool({ labels: { foo: 'bar' } }, 'second')),
  ),
  same(
    2797,
    'a pool with a PreferNoSchedule taint is used last',
    one({}, onPool('second', 1), pool({ taints: [prefer] }), pool({}, 'second')),
  ),
  same(2815, 'the heaviest pool is used first', plans({ objects: [weighted, pods(3)].flat() }, onPool('heavy', 3))),
  same(
    2831,
    'a lighter pool selected by name',
    plans({ objects: [...weighted, pod('p', { nodeSelector: { [nodePool]: 'light' } })] }, onPool('light', 1)),
  ),
  same(2848, 'a static pool launches nothing for pods', one({}, left, pool({ replicas: 2 }))),
  same(
    2859,
    'a dynamic pool beside a static one is used',
    one({}, onPool('second', 1), pool({ replicas: 1 }), pool({}, 'second')),
  ),
]);

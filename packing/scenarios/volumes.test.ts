import { describe, expect, test } from '@jest/globals';
import type {
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { instanceType, node, packingInput, pod, podsOf, zonesOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { ClusterObjects } from '../types.js';

const driver = 'ebs.csi.aws.com';
const inZones = (...zones: string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key: labels.zone, operator: 'In', values: zones }],
});

function claim(
  name: string,
  spec: PersistentVolumeClaim['spec'],
  more: Partial<PersistentVolumeClaim> = {},
): PersistentVolumeClaim {
  const annotations: Record<string, string> =
    spec.volumeName === undefined ? {} : { 'pv.kubernetes.io/bind-completed': 'yes' };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default', annotations },
    spec,
    ...more,
  };
}

const volume = (name: string, spec: PersistentVolume['spec']): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec,
});

const zonalVolume = (name: string, zone: string): PersistentVolume =>
  volume(name, { csi: { driver }, nodeAffinity: { required: { nodeSelectorTerms: [inZones(zone)] } } });

const storageClass = (name: string, more: Partial<StorageClass> = {}): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner: driver,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
});

const using = (...claims: string[]) => ({
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});

const run = (objects: Partial<ClusterObjects>) => plan(packingInput(objects));

test("a bound volume sets the pod's zone, and does not change the domains of a spread (volumes/node-needs)", () => {
  const persistentVolumes = [zonalVolume('v', 'zone-b')];
  const persistentVolumeClaims = [claim('c', { volumeName: 'v' })];
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
  const one = [pod('p', { ...using('c'), ...spread })];
  expect(zonesOf(run({ pods: one, persistentVolumes, persistentVolumeClaims }))).toEqual({ 'zone-b': 1 });
  // Zones a and c count with no pods, so a second pod in zone b would be one too many.
  const two = podsOf(2, 'p', { ...using('c'), ...spread });
  const result = run({ pods: two, persistentVolumes, persistentVolumeClaims });
  expect(zonesOf(result)).toEqual({ 'zone-b': 1 });
  expect(result.unschedulable).toHaveLength(1);
});

describe('a storage class with allowed zones (volumes/node-needs)', () => {
  const topology = (...zones: string[]) => ({
    matchLabelExpressions: [{ key: 'topology.ebs.csi.aws.com/zone', values: zones }],
  });
  const persistentVolumeClaims = [claim('c', { storageClassName: 's' })];
  const storageClasses = [storageClass('s', { allowedTopologies: [topology('zone-x'), topology('zone-c')] })];

  test('a pod may use either of the allowed zones', () => {
    expect(zonesOf(run({ pods: [pod('p', using('c'))], persistentVolumeClaims, storageClasses }))).toEqual({
      'zone-c': 1,
    });
  });

  test('two volumes need a common zone', () => {
    const persistentVolumes = [zonalVolume('v', 'zone-a')];
    const both = [...persistentVolumeClaims, claim('d', { volumeName: 'v' })];
    const objects = { persistentVolumes, persistentVolumeClaims: both };
    const wide = [storageClass('s', { allowedTopologies: [topology('zone-b'), topology('zone-a')] })];
    const pods = [pod('p', using('c', 'd'))];
    expect(zonesOf(run({ pods, ...objects, storageClasses: wide }))).toEqual({ 'zone-a': 1 });
    expect(run({ pods, ...objects, storageClasses }).unschedulable).toHaveLength(1);
  });
});

test('a local volume that is not bound drops the host name, and keeps the rest (volumes/local-volumes)', () => {
  const terms = [
    {
      matchExpressions: [
        { key: labels.hostname, operator: 'In' as const, values: ['gone'] },
        ...inZones('zone-b').matchExpressions!,
      ],
    },
  ];
  const persistentVolumes = [
    volume('v', { local: { path: '/x' }, nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
  ];
  const persistentVolumeClaims = [claim('c', { volumeName: 'v' })];
  expect(zonesOf(run({ pods: [pod('p', using('c'))], persistentVolumes, persistentVolumeClaims }))).toEqual({
    'zone-b': 1,
  });
});

describe('a volume claim that no node can serve leaves its pod alone unplaced (volumes/unusable-claims)', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  test.each<[string, PersistentVolumeClaim | undefined, string]>([
    ['bound at once and unbound', claim('c', { storageClassName: 'immediate' }), 'binds at once'],
    ['lost', claim('c', { volumeName: 'v' }, { status: { phase: 'Lost' } }), 'has lost its volume'],
    [
      'deleting',
      claim('c', { storageClassName: 's' }, { metadata: { name: 'c', namespace: 'default', deletionTimestamp } }),
      'is being deleted',
    ],
    [
      'not bound completely',
      claim('c', { volumeName: 'v' }, { metadata: { name: 'c', namespace: 'default' } }),
      'is not bound completely yet',
    ],
    ['bound to nothing', claim('c', { volumeName: 'gone' }), 'PersistentVolume gone, which does not exist'],
    ['without a class', claim('c', {}), 'has no storage class'],
    [
      'of a class that is not there',
      claim('c', { storageClassName: 'gone' }),
      'storage class gone, which does not exist',
    ],
    ['missing', undefined, 'does not exist'],
  ])('%s', (_, pvc, message) => {
    const result = run({
      pods: [pod('bad', using('c')), pod('good')],
      persistentVolumeClaims: pvc === undefined ? [] : [pvc],
      persistentVolumes: [zonalVolume('v', 'zone-a')],
      storageClasses: [storageClass('s'), storageClass('immediate', { volumeBindingMode: 'Immediate' })],
    });
    expect(result.newNodeClaims.flatMap(({ pods }) => pods)).toEqual(['default/good']);
    expect(result.unschedulable.map(({ pod: name }) => name)).toEqual(['default/bad']);
    expect(result.unschedulable[0]!.reason).toContain('PersistentVolumeClaim default/c');
    expect(result.unschedulable[0]!.reason).toContain(message);
  });
});

describe('attach limits (volumes/attach-limits)', () => {
  const persistentVolumes = ['v1', 'v2', 'v3'].map((name) => zonalVolume(name, 'zone-a'));
  const persistentVolumeClaims = ['1', '2', '3'].map((n) => claim(`c${n}`, { volumeName: `v${n}` }));
  const csiNode = (count: number) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'n' },
    spec: { drivers: [{ name: driver, allocatable: { count } }] },
  });
  const objects = { persistentVolumes, persistentVolumeClaims, nodes: [node('n', { cpu: '16' })] };
  const onNode = (pods: ClusterObjects['pods'], count: number) =>
    run({ ...objects, pods, csiNodes: [csiNode(count)] }).existingNodes[0]?.pods.length ?? 0;

  test('a node at its attach limit takes no further volume', () => {
    const pods = [pod('r', { ...using('c1'), nodeName: 'n' }), pod('a', using('c2')), pod('b', using('c3'))];
    expect([1, 2, 3].map((count) => onNode(pods, count))).toEqual([0, 1, 2]);
  });

  test('two pods with one volume claim count once', () => {
    const pods = [pod('a', using('c1')), pod('b', using('c1'))];
    expect([0, 1].map((count) => onNode(pods, count))).toEqual([0, 2]);
  });

  test('pods without volumes are not limited', () => {
    expect(onNode([pod('a')], 0)).toBe(1);
  });

  test.each<[string, Partial<ClusterObjects>]>([
    [
      'made already',
      {
        persistentVolumes: ['v1', 'v2'].map((name) => volume(name, { awsElasticBlockStore: { volumeID: name } })),
        persistentVolumeClaims: ['1', '2'].map((n) => claim(`c${n}`, { volumeName: `v${n}` })),
      },
    ],
    [
      'still to be made',
      {
        storageClasses: [storageClass('s', { provisioner: 'kubernetes.io/aws-ebs' })],
        persistentVolumeClaims: ['1', '2'].map((n) => claim(`c${n}`, { storageClassName: 's' })),
      },
    ],
  ])('volumes of the in-tree EBS plugin count for the CSI driver, %s', (_, volumes) => {
    const pods = [pod('r', { ...using('c1'), nodeName: 'n' }), pod('p', using('c2'))];
    const result = run({ pods, nodes: [node('n', { cpu: '16' })], csiNodes: [csiNode(1)], ...volumes });
    expect(result.existingNodes).toEqual([]);
    expect(result.newNodeClaims).toHaveLength(1);
  });
});

describe('attach limits of new nodes (volumes/attach-limits)', () => {
  const storageClasses = [storageClass('s')];
  const names = Array.from({ length: 60 }, (_, n) => `p${String(n).padStart(2, '0')}`);
  const big = instanceType('big', { cpu: 64, price: 3 });
  const small = instanceType('small', { cpu: 4, price: 0.2 });
  /** Nodes of the type that are full, with these limits of the driver. */
  const reporting = (type: string, ...limits: readonly (number | undefined)[]): Partial<ClusterObjects> => {
    const full = limits.map((_, n) => node(`${type}-${n}`, { cpu: '0', labels: { [labels.instanceType]: type } }));
    const csiNodes = limits.map((count, n) => ({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: `${type}-${n}` },
      spec: { drivers: [{ name: driver, ...(count !== undefined && { allocatable: { count } }) }] },
    }));
    return { nodes: full, csiNodes };
  };
  const planned = (
    types: InstanceType[],
    objects: Partial<ClusterObjects>,
    pods = names.map((name) => pod(name, using(name))),
  ) => {
    const persistentVolumeClaims = [...names, 'shared'].map((name) => claim(name, { storageClassName: 's' }));
    return plan(packingInput({ pods, persistentVolumeClaims, storageClasses, ...objects }, { types }));
  };
  const sizes = ({ newNodeClaims }: ReturnType<typeof plan>) =>
    newNodeClaims.map(({ pods }) => pods.length).sort((a, b) => b - a);

  test('sixty pods with a volume each need three nodes of a type that attaches 25', () => {
    const result = planned([big], reporting('big', 25));
    expect(sizes(result)).toHaveLength(3);
    expect(Math.max(...sizes(result))).toBeLessThanOrEqual(25);
    expect(result.newNodeClaims.map(({ requests }) => Object.keys(requests).sort())).toEqual(
      result.newNodeClaims.map(() => ['cpu', 'memory', 'pods']),
    );
  });

  test('a type of which no node reports a limit has none, beside one that has', () => {
    const result = planned([small, big], reporting('small', 2));
    expect(result.newNodeClaims.map(({ cheapest, pods }) => [cheapest.instanceType, pods.length])).toEqual([
      ['big', 60],
    ]);
  });

  test.each([
    { limits: [undefined], nodes: 1 },
    { limits: [60], nodes: 1 },
    { limits: [59], nodes: 2 },
    { limits: [25, 1, 25], nodes: 3 },
    { limits: [25, 2_147_483_647, 25], nodes: 3 },
  ])('limits of $limits give $nodes nodes: one wrong report does not decide', ({ limits, nodes }) => {
    expect(sizes(planned([big], reporting('big', ...limits)))).toHaveLength(nodes);
  });

  test('a volume that all pods use counts once', () => {
    const pods = names.map((name) => pod(name, using('shared')));
    expect(sizes(planned([big], reporting('big', 1), pods))).toEqual([60]);
  });

  test('a pod with more volumes than any type attaches gets no node, and its reason names the limit', () => {
    const result = planned([big], reporting('big', 25), [pod('p', using(...names.slice(0, 26)))]);
    expect(result.newNodeClaims).toEqual([]);
    expect(result.unschedulable[0]!.reason).toContain(`attachable-volumes-csi-${driver} 26`);
  });

  test('a node that starts takes as many as its type attaches', () => {
    const { nodes = [], csiNodes } = reporting('big', 25);
    const starting = node('starting', {
      cpu: '64',
      memory: '256Gi',
      initialized: false,
      labels: { [labels.instanceType]: 'big' },
    });
    const result = planned([big], { nodes: [...nodes, starting], csiNodes });
    expect(result.existingNodes.map(({ pods }) => pods.length)).toEqual([25]);
    expect(sizes(result)).toHaveLength(2);
  });
});

test('a pod whose volume claim is being deleted gets no node', () => {
  const metadata = { name: 'v', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const persistentVolumes = [{ ...zonalVolume('v', 'zone-a'), metadata }];
  const result = run({ pods: [pod('p', using('c'))], persistentVolumes, persistentVolumeClaims: [claim('c', { volumeName: 'v' })] }); // prettier-ignore
  expect(result.newNodeClaims).toEqual([]);
  expect(result.unschedulable[0]!.reason).toContain('PersistentVolume v, which is being deleted');
});

describe('volume claims of a class without a provisioner (volumes/static-volumes)', () => {
  const storageClasses = [storageClass('static', { provisioner: 'kubernetes.io/no-provisioner' })];
  const asked = (more: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim['spec'] => ({
    storageClassName: 'static',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '10Gi' } },
    ...more,
  });
  const disk = (name: string, zone: string, spec: PersistentVolume['spec'] = {}, phase = 'Available') => ({
    ...volume(name, {
      storageClassName: 'static',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '10Gi' },
      nodeAffinity: { required: { nodeSelectorTerms: [inZones(zone)] } },
      ...spec,
    }),
    status: { phase },
  });
  const planFor = (
    persistentVolumes: readonly PersistentVolume[],
    claims: readonly PersistentVolumeClaim['spec'][] = [asked()],
    more: Partial<ClusterObjects> = {},
  ) => {
    const persistentVolumeClaims = claims.map((spec, i) => claim(`c-${i}`, spec));
    const pods = claims.map((_, i) => pod(`p-${i}`, using(`c-${i}`)));
    return run({ pods, persistentVolumes, persistentVolumeClaims, storageClasses, ...more });
  };

  test("bind to an Available volume, and the pod's node is where that is", () => {
    expect(zonesOf(planFor([disk('d', 'zone-b')]))).toEqual({ 'zone-b': 1 });
  });

  test.each<[string, PersistentVolume, Partial<PersistentVolumeClaim['spec']>]>([
    ['bound', disk('d', 'zone-b', {}, 'Bound'), {}],
    ['kept for another claim', disk('d', 'zone-b', { claimRef: { namespace: 'default', name: 'other' } }), {}],
    ['of another class', disk('d', 'zone-b', { storageClassName: 'other' }), {}],
    ['too small', disk('d', 'zone-b', { capacity: { storage: '9Gi' } }), {}],
    ['of another access mode', disk('d', 'zone-b'), { accessModes: ['ReadWriteMany'] }],
    ['of another volume mode', disk('d', 'zone-b', { volumeMode: 'Block' }), {}],
    ['of other labels', disk('d', 'zone-b'), { selector: { matchLabels: { tier: 'fast' } } }],
  ])('do not bind to a volume that is %s', (_, other, spec) => {
    const { newNodeClaims, unschedulable } = planFor([other], [asked(spec)]);
    expect(newNodeClaims).toEqual([]);
    expect(unschedulable[0]?.reason).toContain('storage class static, which provisions nothing');
    const chosen = disk('fit', 'zone-c', {
      ...(spec.accessModes && { accessModes: spec.accessModes }),
    });
    const labelled = { ...chosen, metadata: { ...chosen.metadata, labels: { tier: 'fast' } } };
    expect(zonesOf(planFor([other, labelled], [asked(spec)]))).toEqual({ 'zone-c': 1 });
  });

  test('bind to one volume each', () => {
    const disks = [disk('d-0', 'zone-a'), disk('d-1', 'zone-b')];
    expect(zonesOf(planFor(disks, [asked(), asked()]))).toEqual({ 'zone-a': 1, 'zone-b': 1 });
    const { newNodeClaims, unschedulable } = planFor(disks, [asked(), asked(), asked()]);
    expect(newNodeClaims.flatMap(({ pods }) => pods)).toHaveLength(2);
    expect(unschedulable[0]?.reason).toContain('other claims take every PersistentVolume');
  });

  test('of one pod bind to volumes that one node reaches, and leave other pods theirs', () => {
    const disks = [disk('d-0', 'zone-a'), disk('d-1', 'zone-b'), disk('d-2', 'zone-b')];
    const persistentVolumeClaims = ['x', 'y', 'z'].map((name) => claim(name, asked()));
    const pods = [
      pod('two', using('x', 'y')),
      pod('one', { ...using('z'), nodeSelector: { [labels.zone]: 'zone-a' } }),
    ];
    const result = run({ pods, persistentVolumes: disks, persistentVolumeClaims, storageClasses });
    expect(result.unschedulable).toEqual([]);
    expect(zonesOf(result)).toEqual({ 'zone-a': 1, 'zone-b': 1 });
  });

  test('that match a local volume place the pod on its node or nowhere', () => {
    const onHost = { matchExpressions: [{ key: labels.hostname, operator: 'In' as const, values: ['n'] }] };
    const local = disk('d', '', { local: { path: '/d' }, nodeAffinity: { required: { nodeSelectorTerms: [onHost] } } });
    expect(planFor([local], [asked()], { nodes: [node('n')] }).existingNodes).toHaveLength(1);
    const full = planFor([local], [asked()], { nodes: [node('n', { cpu: '500m' })] });
    expect([full.existingNodes, full.newNodeClaims]).toEqual([[], []]);
  });
});

test('a local volume keeps a pending pod on its host for as long as that exists (volumes/local-volumes)', () => {
  const onHost = { matchExpressions: [{ key: labels.hostname, operator: 'In' as const, values: ['n'] }] };
  const persistentVolumes = [
    volume('v', { local: { path: '/d' }, nodeAffinity: { required: { nodeSelectorTerms: [onHost] } } }),
  ];
  const objects = {
    pods: [pod('p', using('c'))],
    persistentVolumes,
    persistentVolumeClaims: [claim('c', { volumeName: 'v' })],
  };
  expect(run({ ...objects, nodes: [node('n', { cpu: '500m' })] }).newNodeClaims).toEqual([]);
  expect(run({ ...objects, nodes: [node('other', { cpu: '500m' })] }).newNodeClaims).toHaveLength(1);
  const moving = { ...objects, pods: [pod('p', { ...using('c'), nodeName: 'n' })], nodes: [node('n')] };
  expect(plan(packingInput(moving, { withoutNodes: new Set(['n']) })).newNodeClaims).toHaveLength(1);
});

test('a ReadWriteOncePod claim serves one pod at a time (volumes/read-write-once-pod)', () => {
  const persistentVolumes = [zonalVolume('v', 'zone-b')];
  const persistentVolumeClaims = [claim('c', { volumeName: 'v', accessModes: ['ReadWriteOncePod'] })];
  const planOf = (...pods: Pod[]) => run({ pods, persistentVolumes, persistentVolumeClaims, nodes: [node('n')] });
  const user = pod('user', { ...using('c'), nodeName: 'n' });
  const waits = planOf(pod('p', using('c')), user);
  expect(waits.newNodeClaims).toEqual([]);
  expect(waits.unschedulable[0]?.reason).toContain('is ReadWriteOncePod, and pod default/user uses it');
  expect(planOf(pod('p', using('c')), { ...user, status: { phase: 'Succeeded' } }).newNodeClaims).toHaveLength(1);
  const both = planOf(pod('p', using('c')), pod('q', using('c')));
  expect(both.newNodeClaims.flatMap(({ pods }) => pods)).toEqual(['default/p']);
});

import { describe, expect, test } from '@jest/globals';
import type {
  CSINode,
  DaemonSet,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  StorageClass,
  Taint,
} from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { node, packingInput, pod, podsOf } from '../../test/builders/packing-fixtures.js';
import { near, spreads, topologyOf } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import {
  attach,
  canAttach,
  nodeStates,
  placeOn,
  removeFrom,
  removePorts,
  roomFor,
  type NodeState,
} from './node-states.js';

const driver = 'ebs.csi.aws.com';
const gi = 2 ** 30;

const fast: StorageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'fast' },
  provisioner: driver,
  volumeBindingMode: 'WaitForFirstConsumer',
};
const claimOf = (name: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: { storageClassName: 'fast' },
});

/** The nodes of a pass that a pod is waiting in, and what they have left by resource. */
function statesOf(objects: Partial<ClusterObjects>, withoutNodes: readonly string[] = []) {
  const pods = [pod('waiting', { requests: { 'example.com/gpu': '1' } }), ...(objects.pods ?? [])];
  const { compiled } = topologyOf(packingInput({ ...objects, pods }, { withoutNodes: new Set(withoutNodes) }));
  const states = nodeStates(compiled);
  const free = Object.fromEntries(
    states.map((state) => [
      state.view.name,
      Object.fromEntries([...state.free].map((amount, d) => [compiled.dimensions.names[d]!, amount])),
    ]),
  );
  const cpus = Object.fromEntries(Object.entries(free).map(([name, amounts]) => [name, amounts['cpu']! / 1000]));
  return { states, free, cpus, compiled };
}
const bound = (name: string, nodeName: string, more: Partial<PodSpec> & { cpu?: string } = {}): Pod =>
  pod(name, { nodeName, ...more });

describe('the state of an existing node', () => {
  test('is its allocatable less the requests of its pods', () => {
    const { free } = statesOf({
      nodes: [node('a', { cpu: '4', memory: '16Gi' })],
      pods: [bound('p', 'a', { cpu: '1500m' })],
    });
    expect(free['a']).toEqual({ cpu: 2500, memory: 15 * gi, pods: 109, 'example.com/gpu': 0 });
  });

  test('has nothing of a resource that it does not have or whose quantity is unreadable', () => {
    const strange = node('a');
    const status = {
      ...strange.status,
      allocatable: { cpu: '4', memory: 'much', pods: '110', 'example.com/gpu': '2' },
    };
    const { free } = statesOf({ nodes: [{ ...strange, status }] });
    expect(free['a']).toEqual({ cpu: 4000, memory: 0, pods: 110, 'example.com/gpu': 2 });
  });

  test('takes no pods while it is deleting', () => {
    const { states } = statesOf({ nodes: [node('a'), node('b'), node('c')] }, ['b']);
    expect(states.map(({ view, index }) => [view.name, index])).toEqual([
      ['a', 0],
      ['c', 1],
    ]);
  });

  test('has its host name label, or its name where it has none', () => {
    const plain = { ...node('b'), metadata: { name: 'b', labels: { [labels.nodePool]: 'default' } } };
    const { states } = statesOf({ nodes: [node('a', { labels: { [labels.hostname]: 'host' } }), plain] });
    expect(states.map(({ host }) => host)).toEqual(['host', 'b']);
  });

  test('has the host ports of its pods', () => {
    const ports = (hostPort: number) => ({ containers: [{ name: 'main', ports: [{ hostPort }] }] });
    const { states } = statesOf({
      nodes: [node('a'), node('b')],
      pods: [bound('p', 'a', ports(80)), bound('q', 'a', ports(81))],
    });
    expect(states.map((state) => state.ports.map(({ hostPort }) => hostPort))).toEqual([[80, 81], []]);
  });

  test('has no placed pods at the beginning', () => {
    const { states } = statesOf({ nodes: [node('a')], pods: [bound('p', 'a')] });
    expect(states[0]).toMatchObject({ pods: [], placed: [], placedWithRules: [] });
  });
});

test('nodes with equal taints and equal requested labels are of one kind', () => {
  const taint: Taint = { key: 'own', effect: 'NoSchedule' };
  const asking = pod('asking', { nodeSelector: { disk: 'ssd', 'beta.kubernetes.io/arch': 'amd64' } });
  const { states, compiled } = statesOf({
    pods: [asking],
    nodes: [
      node('plain', { labels: { unasked: 'a' } }),
      node('alike', { labels: { unasked: 'b' } }),
      node('ssd', { labels: { disk: 'ssd' } }),
      node('tainted', { taints: [taint] }),
    ],
  });
  expect(states.map(({ kind }) => kind.index)).toEqual([0, 0, 1, 2]);
  expect(states[0]!.kind).toBe(states[1]!.kind);
  expect(states.map(({ kind }) => kind.taints)).toEqual([[], [], [], [taint]]);
  const valueOf = (key: string) => states.map(({ kind }) => kind.values[compiled.space.find(key)!]);
  expect(valueOf('disk')).toEqual([undefined, undefined, 'ssd', undefined]);
  expect(valueOf(labels.arch)).toEqual(['amd64', 'amd64', 'amd64', 'amd64']);
});

describe('DaemonSets on an existing node (scheduling/daemon-overhead)', () => {
  const daemonSet = (spec: Partial<PodSpec> = {}, cpu = '1'): DaemonSet => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'kube-system', uid: 'agent' },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }], ...spec } },
    },
  });
  const ofDaemonSet = (own: Pod): Pod => ({
    ...own,
    metadata: {
      ...own.metadata,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true }],
    },
  });

  test('take what their missing pods will take', () => {
    const daemonSets = [daemonSet()];
    const nodes = [node('a', { cpu: '4' }), node('b', { cpu: '4' }), node('c', { cpu: '4' })];
    const pods = [ofDaemonSet(bound('agent', 'b', { cpu: '1' })), ofDaemonSet(bound('large', 'c', { cpu: '2' }))];
    expect(statesOf({ daemonSets, nodes, pods }).cpus).toEqual({ a: 3, b: 3, c: 2 });
  });

  test('are not covered by the pods of other owners', () => {
    const nodes = [node('a', { cpu: '4' })];
    expect(statesOf({ daemonSets: [daemonSet()], nodes, pods: [bound('other', 'a', { cpu: '1' })] }).cpus).toEqual({
      a: 2,
    });
  });

  test('take from nodes that match one of their terms', () => {
    const nodes = [
      node('ssd', { cpu: '4', labels: { disk: 'ssd' } }),
      node('nvme', { cpu: '4', labels: { disk: 'nvme' } }),
      node('hdd', { cpu: '4', labels: { disk: 'hdd' } }),
    ];
    const nodeSelectorTerms = ['ssd', 'nvme'].map((disk) => ({
      matchExpressions: [{ key: 'disk', operator: 'In' as const, values: [disk] }],
    }));
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
    expect(statesOf({ daemonSets: [daemonSet({ affinity })], nodes }).cpus).toEqual({ ssd: 3, nvme: 3, hdd: 4 });
  });

  test('take nothing where labels or taints exclude them', () => {
    const nodes = [
      node('ssd', { cpu: '4', labels: { disk: 'ssd' } }),
      node('hdd', { cpu: '4', labels: { disk: 'hdd' } }),
      node('tainted', { cpu: '4', labels: { disk: 'ssd' }, taints: [{ key: 'own', effect: 'NoSchedule' }] }),
    ];
    const daemonSets = [daemonSet({ nodeSelector: { disk: 'ssd' } })];
    expect(statesOf({ daemonSets, nodes }).cpus).toEqual({ ssd: 3, hdd: 4, tainted: 4 });
  });
});

describe('attach limits of an existing node (volumes/attach-limits)', () => {
  const csiNode = (name: string, count?: number): CSINode => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: [{ name: driver, nodeID: name, ...(count === undefined ? {} : { allocatable: { count } }) }] },
  });
  const storage: Partial<ClusterObjects> = {
    storageClasses: [fast],
    persistentVolumeClaims: [claimOf('one'), claimOf('two')],
  };
  const using = (claimName: string) => ({ volumes: [{ name: claimName, persistentVolumeClaim: { claimName } }] });

  test('are those of its CSINode, less the volumes of its pods', () => {
    const { states } = statesOf({
      ...storage,
      nodes: [node('limited'), node('unlimited'), node('unknown')],
      csiNodes: [csiNode('limited', 3), csiNode('unlimited')],
      pods: [bound('p', 'limited', using('one')), bound('q', 'limited', using('two')), bound('r', 'limited')],
    });
    const [limited, unlimited, unknown] = states.map((state) => state.attach);
    expect([...limited!.limits]).toEqual([[driver, 3]]);
    expect([...limited!.attached].map(([name, volumes]) => [name, volumes.size])).toEqual([[driver, 2]]);
    expect([unlimited, unknown]).toEqual([undefined, undefined]);
  });

  test('are none where the CSINode has no drivers', () => {
    const { metadata, apiVersion, kind } = csiNode('a');
    const { states } = statesOf({ nodes: [node('a')], csiNodes: [{ apiVersion, kind, metadata, spec: {} }] });
    expect(states[0]!.attach).toBeUndefined();
  });

  const volumes = (...names: string[]) => names.map((volume) => ({ driver, volume }));

  test('count a volume of several pods once', () => {
    const attached = new Map<string, Set<string>>();
    attach(attached, volumes('one', 'two'));
    attach(attached, [...volumes('two'), { driver: 'other', volume: 'two' }]);
    expect(Object.fromEntries(attached)).toEqual({ [driver]: new Set(['one', 'two']), other: new Set(['two']) });
  });

  test.each([
    { limit: 3, there: ['one'], more: ['two', 'three'], fits: true },
    { limit: 2, there: ['one'], more: ['two', 'three'], fits: false },
    { limit: 2, there: ['one'], more: ['one', 'three'], fits: true },
    { limit: 1, there: [], more: ['two', 'two'], fits: true },
    { limit: 0, there: [], more: ['two'], fits: false },
    { limit: 1, there: ['one', 'two'], more: ['one'], fits: true },
  ])('of $limit with $there attached leave: $more', ({ limit, there, more, fits }) => {
    const attached = new Map<string, Set<string>>();
    attach(attached, volumes(...there));
    expect(canAttach({ limits: new Map([[driver, limit]]), attached }, volumes(...more))).toBe(fits);
  });

  test('hold for each driver separately', () => {
    const other = [{ driver: 'other', volume: 'one' }];
    const attached = new Map<string, Set<string>>();
    expect(canAttach({ limits: new Map([[driver, 0]]), attached }, other)).toBe(true);
    const limits = new Map([
      [driver, 5],
      ['other', 0],
    ]);
    expect(canAttach({ limits, attached }, other)).toBe(false);
  });
});

describe('pods of the pass on an existing node', () => {
  /** A node of 4 CPUs, and how pods like the given one are put on it and taken away. */
  function nodeFor(own: readonly Pod[], objects: Partial<ClusterObjects> = {}) {
    const { nodes, compiled, rulesOf } = topologyOf(
      packingInput({ nodes: [node('a', { cpu: '4' })], pods: own, ...objects }),
    );
    const [state] = nodes;
    const podClass = compiled.classes.all.find(({ pods }) => pods.includes(own[0]!))!;
    const rules = rulesOf(own[0]!);
    const demand = compiled.dimensions.vector(podClass.demand.amounts);
    const put = (on: NodeState, ...pods: Pod[]) => placeOn(on, { podClass, rules, pods }, demand, compiled.volumes);
    const take = (from: NodeState, taken: Pod) => removeFrom(from, { podClass, rules, pod: taken }, demand);
    return { state: state!, put, take };
  }
  const cpus = ({ free }: NodeState) => free[0]! / 1000;

  test('take what they request and return it when removed', () => {
    const [one, two, three] = podsOf(3, 'p');
    const { state, put, take } = nodeFor([one!, two!, three!]);
    put(state, one!, two!);
    put(state, three!);
    expect(cpus(state)).toBe(1);
    expect(state.pods).toEqual([one, two, three]);
    expect(state.placed!.map(({ pod: placed }) => placed)).toEqual([one, two, three]);
    take(state, two!);
    expect(cpus(state)).toBe(2);
    expect(state.pods).toEqual([one, three]);
    expect(state.placed!.map(({ pod: placed }) => placed)).toEqual([one, three]);
  });

  test.each([
    ['without rules', {}, 0],
    ['with spread', { labels: { app: 'web' }, ...spreads() }, 1],
    ['with affinity', near('web'), 1],
    ['with affinity by host name', near('web', labels.hostname), 1],
  ])('%s', (_, options, ruled) => {
    const own = pod('p', options);
    const { state, put, take } = nodeFor([own]);
    put(state, own);
    expect(state.placedWithRules).toHaveLength(ruled);
    take(state, own);
    expect([state.placed, state.placedWithRules]).toEqual([[], []]);
  });

  test('are placed on a node that does not list them', () => {
    const own = pod('p', { labels: { app: 'web' }, ...spreads() });
    const { state, put, take } = nodeFor([own]);
    const { index, view, free, kind, ports, pods, host, attach: limits } = state;
    const bare: NodeState = { index, view, free, kind, ports, pods, host, attach: limits };
    put(bare, own);
    expect(bare.pods).toEqual([own]);
    take(bare, own);
    expect(bare.pods).toEqual([]);
  });

  test('take their host ports', () => {
    const own = pod('p', { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] });
    const { state, put, take } = nodeFor([own]);
    put(state, own);
    expect(state.ports.map(({ hostPort }) => hostPort)).toEqual([80]);
    take(state, own);
    expect(state.ports).toEqual([]);
  });

  test('attach their volumes where there is a limit', () => {
    const own = pod('p', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    const { state, put } = nodeFor([own], {
      storageClasses: [fast],
      persistentVolumeClaims: [claimOf('data')],
    });
    const attached = new Map<string, Set<string>>();
    put({ ...state, attach: { limits: new Map([[driver, 3]]), attached } }, own);
    expect(attached.get(driver)?.size).toBe(1);
    put({ ...state, attach: undefined }, own);
  });
});

test('removing a pod frees its host port once', () => {
  const port = (hostPort: number) => ({ protocol: 'TCP', hostIP: '', hostPort });
  const [web, db] = [port(80), port(81)];
  const ports = [web, db, web];
  removePorts(ports, [web]);
  expect(ports).toEqual([web, db]);
  removePorts(ports, [port(82)]);
  expect(ports).toEqual([web, db]);
  removePorts(ports, [web, port(80), db]);
  expect(ports).toEqual([]);
});

describe('room of an existing node', () => {
  const room = (free: number[], demand: number[], wanted: number) =>
    roomFor(Float64Array.from(free), Float64Array.from(demand), wanted);

  test.each([
    { free: [4, 8], demand: [1, 1], wanted: 3, fits: 3 },
    { free: [4, 8], demand: [1, 1], wanted: 4, fits: 4 },
    { free: [4, 8], demand: [1, 1], wanted: 9, fits: 4 },
    { free: [4, 8], demand: [1, 4], wanted: 9, fits: 2 },
    { free: [4, 8], demand: [3, 0], wanted: 9, fits: 1 },
    { free: [4, 8], demand: [5, 0], wanted: 9, fits: 0 },
    { free: [4, 0], demand: [0, 0], wanted: 9, fits: 9 },
    { free: [4, -1], demand: [1, 0], wanted: 9, fits: 0 },
    { free: [4, 4], demand: [1, 1], wanted: 0, fits: 0 },
  ])('for $wanted of $demand in $free (scheduling/free-room)', ({ free, demand, wanted, fits }) => {
    expect(room(free, demand, wanted)).toBe(fits);
  });
});

import type { Taint } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { daemonSet } from '../../cases/objects.js';
import { affinity, spread } from '../topology-terms.js';
import { plans, type Situation } from '../plans.js';
import { about, differs, notApplicable, same, type ConformanceCase } from '../conformance-case.js';
import { node, oneOf, pod, pods, pool, type, unlabelled, zone1, zone2, zone3, type PodOptions } from '../world.js';

const starting = { initialized: false } as const;
const tainted: Taint = { key: 'example.com/taint', value: 'tainted', effect: 'NoSchedule' };
const notReady = (effect: Taint['effect']): Taint => ({ key: 'node.kubernetes.io/not-ready', effect });
const app = { labels: { app: 'x' } };
const onNode = (name: string, nodeName: string, options: PodOptions = {}) => pod(name, { ...options, nodeName });
const big = { allocatable: { cpu: '16', memory: '128Gi', pods: '5' } };
const daemonPod = (name: string, set: string, nodeName: string, cpu: string) =>
  pod(name, {
    nodeName,
    cpu,
    metadata: {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: set, uid: `ds-${set}`, controller: true }],
    },
  });
const medium: Situation['catalogue'] = [type('medium', { cpu: 4.25, memory: 4, pods: 4 })];
const many = (count: number, ripe: number) =>
  Array.from({ length: count }, (_, i) => node(`n-${i}`, { initialized: i === ripe })).flat();
const foreign = () => {
  const [made] = node('own', { allocatable: { cpu: '10', memory: '100Gi', pods: '110' } });
  return unlabelled(made!, labels.nodePool);
};

/** Nodes that were launched and have not joined yet, or are not ready. */
export const inFlightCases: readonly ConformanceCase[] = about('nodes in flight', [
  same(
    [1830, 2531],
    'a pod that fits one launches none',
    plans({ objects: [node('n', starting), pod('p', { cpu: '10m' })] }, { nodes: 0, existing: { n: 1 } }),
  ),
  same(
    1847,
    'the zone of one decides which pods fit',
    plans(
      {
        objects: [
          node('n', { ...starting, zone: zone2 }),
          pod('a', { needs: [oneOf(labels.zone, zone1, zone2)] }),
          pod('b', { needs: [oneOf(labels.zone, zone1, zone3)] }),
        ],
      },
      { nodes: 1, existing: { n: 1 }, sizes: [1] },
    ),
  ),
  same(
    1896,
    'a pod that does not fit beside its pods',
    plans(
      {
        objects: [
          node('n', { ...starting, allocatable: { cpu: '2' } }),
          onNode('r', 'n', { cpu: '1001m' }),
          pod('p', { cpu: '1' }),
        ],
      },
      { nodes: 1, existing: {} },
    ),
  ),
  same(
    1915,
    'a pod of another architecture',
    plans(
      { objects: [node('n', starting), pod('p', { nodeSelector: { [labels.arch]: 'arm64' } })] },
      { nodes: 1, existing: {} },
    ),
  ),
  same(
    1932,
    'one that is being deleted takes no pods',
    plans(
      {
        objects: [
          ...node('n', starting).map((each) => ({
            ...each,
            metadata: { ...each.metadata, deletionTimestamp: '2026-01-01T12:00:00Z' },
          })),
          pod('p', { cpu: '10m' }),
        ],
      },
      { nodes: 1, existing: {} },
    ),
  ),
  same(
    1959,
    'zones are balanced with pods on them',
    plans(
      {
        objects: [
          [zone1, zone2, zone3].map((zone) => node(zone, { ...starting, zone })),
          onNode('r1', zone1, app),
          onNode('r2', zone2, app),
          onNode('r3', zone3, app),
          onNode('r4', zone3, app),
          pods(5, { ...app, ...spread() }),
        ].flat(2),
      },
      { nodes: 0, existing: { [zone1]: 2, [zone2]: 2, [zone3]: 1 } },
    ),
  ),
  same(
    1990,
    'hosts are balanced with pods on them: each further pod gets a node',
    plans(
      {
        objects: [
          ...[0, 1, 2, 3].flatMap((i) => [node(`n${i}`, starting), onNode(`r${i}`, `n${i}`, app)]),
          ...pods(5, { ...app, ...spread({ topologyKey: labels.hostname }) }),
        ],
      },
      { nodes: 5, existing: {} },
    ),
  ),
  same(
    2018,
    'one whose taints are gone',
    plans({ objects: [node('n', { ...starting, ...big }), pod()] }, { existing: { n: 1 } }),
  ),
  same(
    2040,
    'not-ready:NoExecute is ignored while a node starts, and not afterwards',
    plans(
      { objects: [node('n', { ...starting, taints: [notReady('NoExecute')] }), pod()] },
      { nodes: 0, existing: { n: 1 } },
    ),
  ),
  same(
    [],
    'not-ready:NoExecute on a node that is initialized',
    plans({ objects: [node('n', { taints: [notReady('NoExecute')] }), pod()] }, { nodes: 1, existing: {} }),
  ),
  same(
    2078,
    'a taint that is not of the NodePool excludes pods',
    plans({ objects: [node('n', { ...big, taints: [tainted] }), pod()] }, { nodes: 1, existing: {} }),
  ),
  same(
    2110,
    'a startup taint is ignored while the node starts',
    plans(
      {
        objects: [
          pool({ startupTaints: [tainted] }),
          node('n', { ...starting, ...big, startupTaints: [tainted] }),
          pod(),
        ],
      },
      { nodes: 0, existing: { n: 1 } },
    ),
  ),
  same(
    2143,
    'a startup taint applies once the node is initialized',
    plans(
      { objects: [pool({ startupTaints: [tainted] }), node('n', { taints: [tainted] }), pod()] },
      { nodes: 1, existing: {} },
    ),
  ),
  differs(
    2174,
    'taints of an initialized node that is NotReady',
    'scheduling/starting-nodes',
    'they hold; the test of Karpenter plans before its state has heard of the label, and its code says the same as ours',
    plans(
      {
        objects: [
          node('n', {
            taints: [
              notReady('NoSchedule'),
              { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
              { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
            ],
          }),
          pod('p', { cpu: '10m' }),
        ],
      },
      { nodes: 1, existing: {} },
    ),
  ),
  same(
    2203,
    'a DaemonSet pod that runs is not counted again',
    plans(
      {
        objects: [
          daemonSet('d', { cpu: '1', memory: '1Gi' }),
          node('n', { ...starting, ...big }),
          daemonPod('d-1', 'd', 'n', '1'),
          pod('p', { cpu: '15' }),
        ],
      },
      { nodes: 0, existing: { n: 1 } },
    ),
  ),
  same(
    2275,
    'an unexpected DaemonSet pod takes room',
    plans(
      {
        catalogue: [type('huge', { cpu: 32, memory: 128, pods: 50 })],
        objects: [
          {
            ...daemonSet('d', { cpu: '1' }, { nodeSelector: { 'example.com/mine': 'yes' } }),
          },
          daemonSet('e', { cpu: '1m' }),
          node('n', { ...starting, ...big, labels: { 'example.com/mine': 'yes' } }),
          daemonPod('d-1', 'd', 'n', '1'),
          pod('p', { cpu: '15.5' }),
        ],
      },
      { nodes: 1, existing: {} },
    ),
  ),
  same(
    2364,
    'DaemonSets that require registered or initialized nodes count, and claims do not require it',
    plans(
      {
        objects: [
          daemonSet('d', { cpu: '1' }, onlyWhere(labels.initialized)),
          daemonSet('e', { cpu: '1' }, onlyWhere(labels.registered)),
          pod('p', { cpu: '3' }),
        ],
      },
      { nodes: 1, by: { [labels.instanceType]: { arm: 1 }, [labels.registered]: { '': 1 } } },
    ),
  ),
  same(
    2492,
    'are filled before others are launched',
    plans(
      {
        catalogue: medium,
        objects: [
          node('n', { ...starting, allocatable: { cpu: '4.25', pods: '4' } }),
          onNode('r', 'n', { cpu: '1' }),
          pods(7, { cpu: '1' }),
        ],
      },
      { nodes: 1, existing: { n: 3 }, sizes: [4] },
    ),
  ),
  same(
    [2553, 2662],
    'the initialized one of many comes first',
    plans({ objects: [many(100, 57), pod()] }, { nodes: 0, existing: { 'n-57': 1 } }),
  ),
  same(2593, 'two pods with one host port', plans({ objects: pods(2, { ports: [{ hostPort: 8080 }] }) }, { nodes: 2 })),
]);

/** Nodes that run. */
export const existingNodeCases: readonly ConformanceCase[] = about('existing nodes', [
  same(
    2607,
    'one without a NodePool is used',
    plans({ objects: [foreign(), pod('p', { cpu: '10m' })] }, { nodes: 0, existing: { own: 1 } }),
  ),
  same(
    2633,
    'a hundred pods use one',
    plans({ objects: [foreign(), ...pods(100, { cpu: '10m' })] }, { nodes: 0, existing: { own: 100 } }),
  ),
  same(
    2695,
    'a pod that does not fit one gets a new node',
    plans(
      { objects: [withoutZone(), pod('p', { needs: [oneOf(labels.zone, zone1)] })] },
      { nodes: 1, existing: {}, by: { [labels.zone]: { [zone1]: 1 } } },
    ),
  ),
  same(
    2729,
    'a DaemonSet that does not fit one takes no room there, and takes it on new ones',
    plans(
      {
        objects: [
          pool({ requirements: [oneOf(labels.zone, zone1)] }),
          daemonSet('d', { cpu: '100', memory: '100Gi' }, onlyWhere(labels.zone, zone1)),
          withoutZone({ cpu: '1', memory: '1Gi', pods: '110' }),
          pod('p', { cpu: '1', memory: '1Gi' }),
          pod('q', { cpu: '1', memory: '1Gi' }),
        ],
      },
      { nodes: 0, existing: { n: 1 }, left: ['q'] },
    ),
  ),
  notApplicable(
    2788,
    'pods are not bound by the autoscaler',
    'a plan binds no pod; that is the work of kube-scheduler',
  ),
  same(
    2818,
    'devices reported as 0 while the node starts count as in the claim',
    plans(
      { objects: [zeroed(), pod('p', { cpu: '10m', requests: { 'example.com/vendor-a': '1' } })] },
      { nodes: 0, existing: { n: 1 } },
    ),
  ),
  same(
    2860,
    'a pod with affinity goes where its like was planned',
    plans({ objects: pods(2, { ...app, ...affinity('x') }) }, { nodes: 1 }),
  ),
]);

function onlyWhere(key: string, value = 'true') {
  const terms = [{ matchExpressions: [oneOf(key, value)] }];
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
  };
}

function withoutZone(allocatable = { cpu: '10', memory: '10Gi', pods: '110' }) {
  return node('n', { allocatable }).map((each) => unlabelled(each, labels.zone));
}

function zeroed() {
  const [own, claim] = node('n', { ...starting, allocatable: { 'example.com/vendor-a': '2' } });
  const none = { 'example.com/vendor-a': '0' };
  const status = (own as { status?: object }).status;
  return [{ ...own!, status: { ...status, capacity: none, allocatable: none } }, claim!];
}

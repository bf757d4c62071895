import type { KubernetesObject } from '../../../api/kubernetes.js';
import { annotations } from '../../../api/labels.js';
import { daemonSet } from '../../cases/objects.js';
import { consolidates, type Fleet, type Outcome } from '../consolidations.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { pod } from '../world.js';
import { cheap, claimed, dear, fleet, marked, of, on, onDemand, poolWith } from './fleet.js';

const run = (objects: Fleet['objects'], expected: Outcome, more: Omit<Fleet, 'objects'> = {}): Check =>
  consolidates({ catalogue: fleet, objects, ...more }, expected);
const one = { mostCommands: 1 };
const empties = (count: number, pool = 'default', prefix = 'n'): KubernetesObject[] =>
  Array.from({ length: count }, (_, i) => of(`${prefix}-${i}`, cheap, { pool })).flat();
const limit = (nodes: string): KubernetesObject => onDemand({ budgets: [{ nodes }] });
const pools = (nodes: string): KubernetesObject[] =>
  Array.from({ length: 10 }, (_, i) => [
    poolWith({ budgets: [{ nodes }] }, {}, `pool-${i}`),
    ...empties(3, `pool-${i}`, `pool-${i}`),
  ]).flat();
const eachOf = (count: number): Outcome => ({
  byGroup: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`pool-${i}`, count])),
});
const gone: Outcome = { gone: ['n'], launched: [] };
const stays: Outcome = { gone: [] };
const since = '2026-01-01T23:59:00Z';
const owned = (kind: string, terminating: boolean): KubernetesObject[] =>
  marked([on('n', 'p', { cpu: '100m' })], 'Pod', {
    ownerReferences: [
      { apiVersion: 'apps/v1', kind, name: 'o', uid: kind === 'DaemonSet' ? 'ds-o' : 'o', controller: true },
    ],
    ...(terminating && { deletionTimestamp: since }),
  });
const doNotDisrupt = (value: string): object => ({ annotations: { [annotations.doNotDisrupt]: value } });
const ripe =
  'a node is consolidatable by the time of its last pod event, not by its condition (consolidation/consolidate-after)';

const wholeFleet =
  'every search looks at every node (consolidation/all-nodes-are-considered): nothing is left for the next one to begin with';

export const singleNodeCases: readonly ConformanceCase[] = about('order of single-node consolidation', [
  notApplicable([104, 130], 'the order in which single nodes are tried, pools in turn', wholeFleet),
  notApplicable([119, 172, 193], 'pools that a search did not come to go first in the next one', wholeFleet),
]);

export const emptinessCases: readonly ConformanceCase[] = about('emptiness', [
  notApplicable(86, 'how many nodes might go', 'a metric'),
  same(111, 'all empty nodes are removed', run([limit('100%'), empties(10)], { count: 10 }, { more: one })),
  same(153, 'no empty node is removed', run([limit('0%'), empties(10)], { count: 0 })),
  same(194, 'three empty nodes are removed', run([limit('30%'), empties(10)], { count: 3 }, { more: one })),
  same(236, 'two nodes of each pool are removed', run(pools('2'), eachOf(2), { more: one })),
  same(302, 'all nodes of each pool are removed', run(pools('100%'), eachOf(3), { more: one })),
  same(369, 'an empty node is removed', run([onDemand(), of('n')], gone)),
  notApplicable(
    385,
    'an empty node that has drifted as well',
    'workflows/disruption starts one disruption a node, whichever reason comes first',
  ),
  notApplicable([405, 465], 'a node whose condition does not say that it is consolidatable', ripe),
  same(419, 'a do-not-disrupt node stays', run([onDemand(), marked(of('n'), 'Node', doNotDisrupt('true'))], stays)),
  same(
    433,
    'a node with do-not-disrupt false is removed',
    run([onDemand(), marked(of('n'), 'Node', doNotDisrupt('false'))], gone),
  ),
  same(450, 'a node with a pod is not empty', run([onDemand(), of('n'), on('n', 'p', { cpu: '4' })], stays)),
  same(479, 'several empty nodes are removed at once', run([onDemand(), empties(3)], { count: 3 }, { more: one })),
  same(
    499,
    'a pending pod that needs another node does not keep an empty one',
    run([onDemand(), of('n'), pod('p', { cpu: '30' })], gone),
  ),
  same(
    557,
    'a node with only a DaemonSet pod is empty',
    run([onDemand(), daemonSet('o', { cpu: '100m' }), of('n'), owned('DaemonSet', false)], gone),
  ),
  same(
    606,
    'a node with only terminating pods of a Deployment is empty',
    run([onDemand(), of('n'), owned('ReplicaSet', true)], gone),
  ),
  same(
    664,
    'a node with terminating pods of a StatefulSet is not empty',
    run([onDemand(), of('n'), marked(owned('StatefulSet', true), 'Pod', {})], stays),
  ),
  same(
    720,
    'an empty node within consolidateAfter stays',
    run([onDemand({ consolidateAfter: '30s' }), claimed(of('n'), { lastPodEventTime: '2026-01-01T23:59:50Z' })], stays),
  ),
  same(
    [],
    'an empty node is removed once consolidateAfter is over',
    run([onDemand({ consolidateAfter: '30s' }), of('n')], gone),
  ),
  same(758, 'an empty node of a static pool stays', run([poolWith({}, { replicas: 1 }), of('n')], stays)),
]);

const template = (cpu: string): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: 't', namespace: 'default' },
    template: { spec: { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu, memory: '1Gi' } } }] } },
  }) as unknown as KubernetesObject;
const buffer = (replicas: number): KubernetesObject =>
  ({
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'spare', namespace: 'default' },
    spec: { replicas, podTemplateRef: { name: 't' }, provisioningStrategy: 'buffer.x-k8s.io/active-capacity' },
  }) as unknown as KubernetesObject;
const kept = (replicas: number, cpu = '3'): KubernetesObject[] => [template(cpu), buffer(replicas)];

/** Capacity buffers: what is kept free on a node keeps the node. */
export const emptyBufferCases: readonly ConformanceCase[] = about('emptiness with capacity buffers', [
  same(808, "a node with a buffer's pods stays", run([onDemand(), of('n'), kept(1)], stays)),
  same(825, 'it is removed once the buffer is gone', run([onDemand(), of('n')], gone)),
  same(
    849,
    'of two nodes the one with the buffer stays',
    run([onDemand(), of('n'), of('m'), kept(1)], { count: 1, launched: [] }),
  ),
  same(868, 'a node with pods and a buffer is not empty', run([onDemand(), of('n'), on('n', 'p'), kept(1)], stays)),
  same(886, 'two nodes that a buffer needs stay', run([onDemand(), of('n'), of('m'), kept(2)], stays)),
  same(904, 'a buffer of size 0 keeps no node', run([onDemand(), of('n'), kept(0)], gone)),
]);

/** The same in consolidation_test.go. */
export const bufferCases: readonly ConformanceCase[] = about('consolidation with capacity buffers', [
  same([5147, 5192], "a node with only a buffer's pods is not removed", run([onDemand(), of('n'), kept(1)], stays)),
  same(
    5165,
    'a node with pods and a buffer is replaced by a smaller one',
    run([onDemand(), of('n', dear), on('n', 'p'), kept(1)], { gone: ['n'], launched: ['cheap'] }),
  ),
  same(5246, 'a node is removed once its buffer is gone', run([onDemand(), of('n')], gone)),
]);

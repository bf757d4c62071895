import { describe, expect, test } from '@jest/globals';
import type { Node, Pod, PodAffinityTerm, PodSpec, Taint } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { pod } from '../../cases/objects.js';
import { isAdmitted, noVolumes } from './scheduling-rules.js';
import type { Surroundings } from './scheduling-rules.js';

const nodeIn = (zone: string, name: string, taints: Taint[] = []): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { [labels.zone]: zone, [labels.hostname]: name } },
  spec: { taints },
});
const a1 = nodeIn('a', 'a1');
const a2 = nodeIn('a', 'a2');
const b1 = nodeIn('b', 'b1');
const tainted = nodeIn('b', 'b2', [{ key: 'team', value: 'x', effect: 'NoSchedule' }]);
const nodes = [a1, a2, b1, tainted];

const web = (spec: Partial<PodSpec> = {}): Pod => pod('web', { app: 'web' }, { cpu: '1', memory: '1Gi' }, spec);
const around = (there: Record<string, Pod[]>, more: Partial<Surroundings> = {}): Surroundings => ({
  nodes,
  pods: new Map(Object.entries(there)),
  volumes: noVolumes,
  ...more,
});
const admitting = (each: Pod, surroundings: Surroundings): string[] =>
  nodes.filter((node) => isAdmitted(each, node, surroundings)).map(({ metadata }) => metadata.name ?? '');

const term = (topologyKey: string, app = 'web'): PodAffinityTerm[] => [
  { topologyKey, labelSelector: { matchLabels: { app } } },
];
const apartBy = (key: string): Partial<PodSpec> => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(key) } },
});
const nearBy = (key: string, app = 'web'): Partial<PodSpec> => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(key, app) } },
});
const spreadBy = (key: string): Partial<PodSpec> => ({
  topologySpreadConstraints: [
    {
      topologyKey: key,
      maxSkew: 1,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    },
  ],
});
const volume = { name: 'data', persistentVolumeClaim: { claimName: 'data-web' } };
const inZone = (zone: string): Surroundings['volumes'] => ({
  claim: () => ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: {}, spec: { volumeName: 'pv-1' } }),
  volume: () => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {},
    spec: {
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: labels.zone, operator: 'In', values: [zone] }] }] },
      },
    },
  }),
});

describe('nodes that pass the filters of the simulated kube-scheduler', () => {
  const untainted = ['a1', 'a2', 'b1'];

  test.each<[string, Pod, Surroundings, string[]]>([
    ['all without a taint, where it has no rules', web(), around({}), untainted],
    [
      'a tainted one, where it tolerates the taint',
      web({ tolerations: [{ key: 'team', operator: 'Exists' }] }),
      around({}),
      [...untainted, 'b2'],
    ],
    [
      'with a node selector: the nodes that it selects',
      web({ nodeSelector: { [labels.zone]: 'b' } }),
      around({}),
      ['b1'],
    ],
    ['with a volume: the nodes of its zone', web({ volumes: [volume] }), around({}, { volumes: inZone('b') }), ['b1']],
    ['with a PersistentVolumeClaim that does not exist: none', web({ volumes: [volume] }), around({}), []],
    [
      'with anti-affinity by hostname: nodes without the pods that it selects',
      web(apartBy(labels.hostname)),
      around({ a1: [web()] }),
      ['a2', 'b1'],
    ],
    [
      'selected by the anti-affinity of a running pod: nodes of other zones',
      web(),
      around({ a1: [web(apartBy(labels.zone))] }),
      ['b1'],
    ],
    [
      'with affinity by zone: nodes of the zone of the pods that it selects',
      web(nearBy(labels.zone)),
      around({ a1: [web()] }),
      ['a1', 'a2'],
    ],
    ['with affinity by zone for its own class, as the first: any', web(nearBy(labels.zone)), around({}), untainted],
    ['with affinity for pods that do not run: none', web(nearBy(labels.zone, 'db')), around({}), []],
    [
      'with a spread by zone: nodes of the zone with the fewest pods',
      web(spreadBy(labels.zone)),
      around({ a1: [web()] }),
      ['b1'],
    ],
    [
      'with a spread by zone, where all zones have the same number of pods: any',
      web(spreadBy(labels.zone)),
      around({ a1: [web()], b1: [web()] }),
      untainted,
    ],
    [
      'with a spread by zone, where a zone without nodes has the fewest pods: none',
      web(spreadBy(labels.zone)),
      around({ a1: [web()], b1: [web()] }, { moreDomains: () => ['c'] }),
      [],
    ],
  ])('%s', (_, each, surroundings, expected) => {
    expect(admitting(each, surroundings)).toEqual(expected);
  });
});

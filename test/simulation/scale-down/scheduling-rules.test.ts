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
    ['those that its node selector names', web({ nodeSelector: { [labels.zone]: 'b' } }), around({}), ['b1']],
    ['the zone of its volume', web({ volumes: [volume] }), around({}, { volumes: inZone('b') }), ['b1']],
    ['none, while its PersistentVolumeClaim is not there', web({ volumes: [volume] }), around({}), []],
    [
      'other nodes than those of pods that it keeps away from',
      web(apartBy(labels.hostname)),
      around({ a1: [web()] }),
      ['a2', 'b1'],
    ],
    ['other zones than those of pods that keep it away', web(), around({ a1: [web(apartBy(labels.zone))] }), ['b1']],
    ['the zone of pods that it wants to be with', web(nearBy(labels.zone)), around({ a1: [web()] }), ['a1', 'a2']],
    ['any, as the first of pods that want to be together', web(nearBy(labels.zone)), around({}), untainted],
    ['none, while nobody is there whom it wants to be with', web(nearBy(labels.zone, 'db')), around({}), []],
    ['the emptiest zone', web(spreadBy(labels.zone)), around({ a1: [web()] }), ['b1']],
    ['any zone, where all have as many', web(spreadBy(labels.zone)), around({ a1: [web()], b1: [web()] }), untainted],
    [
      'none, where a zone without nodes counts and is the emptiest',
      web(spreadBy(labels.zone)),
      around({ a1: [web()], b1: [web()] }, { moreDomains: () => ['c'] }),
      [],
    ],
  ])('%s', (_, each, surroundings, expected) => {
    expect(admitting(each, surroundings)).toEqual(expected);
  });
});

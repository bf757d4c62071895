import { describe, expect, test } from '@jest/globals';
import type { Node, Pod, PodSpec, Taint, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { spreads, topologyOf, type Topology } from '../../test/builders/topology.js';
import type { Group } from './groups.js';
import { bindRunning, countRunning } from './running.js';

const { zone, hostname } = labels;
type Options = Parameters<typeof pod>[1];

const running = (name: string, nodeName: string, options: Options = {}): Pod =>
  pod(name, { labels: { app: 'web' }, cpu: '100m', nodeName, ...options });
const onItsWayOut = (one: Pod): Pod => ({
  ...one,
  metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});
const antiAffinity = (topologyKey: string, app: string): Pick<PodSpec, 'affinity'> => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app } } }],
    },
  },
});

interface Counted extends Topology {
  readonly owned: ReadonlyMap<string, readonly Group[]>;
}

function counted(pods: readonly Pod[], nodes: readonly Node[]): Counted {
  const types = [instanceType('m4', { cpu: 4 })];
  const topology = topologyOf(packingInput({ pods, nodes }, { types }));
  const { compiled, groups, book, topologyCounts } = topology;
  const owned = bindRunning(compiled, groups, book);
  countRunning(compiled, topology.nodes, groups, topologyCounts, owned);
  return { ...topology, owned };
}

const nodes = [node('n1', { zone: 'zone-a' }), node('n2', { zone: 'zone-b' }), node('n3', { zone: 'zone-b' })];

describe('anti-affinity of running pods', () => {
  test('excludes the pods that it selects, by the pod that has it', () => {
    const shy = running('shy', 'n1', antiAffinity(zone, 'loud'));
    const loud = pod('loud', { labels: { app: 'loud' } });
    const { owned, book, rulesOf, topologyCounts } = counted([shy, loud], nodes);
    const [group] = owned.get('default/shy')!;
    expect([...owned.keys()]).toEqual(['default/shy']);
    expect(group).toMatchObject({ kind: 'antiAffinity', key: zone, namespaces: ['default'] });
    expect(book.isBinding(group!)).toBe(true);
    expect(rulesOf(loud).matched).toEqual([group]);
    expect(rulesOf(loud).keys).toEqual([zone]);
    expect([topologyCounts.owners(group!, 'zone-a'), topologyCounts.owners(group!, 'zone-b')]).toEqual([1, 0]);
    expect(topologyCounts.total(group!)).toBe(0);
  });

  test.each<[string, Pod]>([
    ['is none of a pod on its way out', onItsWayOut(running('shy', 'n1', antiAffinity(zone, 'loud')))],
    ['is none of a pod without terms', running('shy', 'n1')],
    [
      'is none of an empty list',
      running('shy', 'n1', { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } } }),
    ],
    [
      'is none where it is only preferred',
      running('shy', 'n1', {
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { topologyKey: zone, labelSelector: { matchLabels: { app: 'loud' } } } },
            ],
          },
        },
      }),
    ],
    [
      'is no affinity',
      running('shy', 'n1', {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: zone, labelSelector: { matchLabels: { app: 'loud' } } },
            ],
          },
        },
      }),
    ],
  ])('%s', (_, one) => {
    const { owned, groups } = counted([one, pod('loud', { labels: { app: 'loud' } })], nodes);
    expect([...owned]).toEqual([]);
    expect(groups.all).toEqual([]);
  });

  test('has the namespace of its pod', () => {
    const shy = running('shy', 'n1', { ...antiAffinity(zone, 'loud'), namespace: 'other' });
    const { owned } = counted([shy], nodes);
    expect(owned.get('other/shy')![0]!.namespaces).toEqual(['other']);
  });

  test('is counted by host name too, for every pod that has it', () => {
    const pods = ['n1', 'n2', 'n2'].map((name, i) => running(`shy-${i}`, name, antiAffinity(hostname, 'loud')));
    const renamed = [nodes[0]!, node('n2', { labels: { [hostname]: 'host-2' } })];
    const { topologyCounts, groups } = counted([...pods, pod('loud', { labels: { app: 'loud' } })], renamed);
    const [group] = groups.all;
    expect(['n1', 'host-2', 'n2'].map((host) => topologyCounts.owners(group!, host))).toEqual([1, 2, 0]);
  });
});

describe('running pods in topology counts', () => {
  const own = (spread: Partial<TopologySpreadConstraint> = {}, more: Options = {}): Pod =>
    pod('own', { labels: { app: 'web' }, ...spreads(spread), ...more });
  /** Counts by zone of the one rule. */
  const byZone = ({ topologyCounts, groups }: Counted): number[] =>
    ['zone-a', 'zone-b'].map((domain) => topologyCounts.count(groups.all[0]!, domain));

  test('are counted in the domain of their node, equal ones together', () => {
    const there = [
      running('a', 'n1'),
      running('b', 'n2'),
      running('c', 'n2', { labels: { app: 'web', other: 'label' } }),
      running('d', 'n3'),
      running('e', 'n3', { labels: { app: 'db' } }),
      running('f', 'n3', { namespace: 'other' }),
      onItsWayOut(running('g', 'n1')),
    ];
    const result = counted([own(), ...there], nodes);
    expect(byZone(result)).toEqual([1, 3]);
    expect(result.topologyCounts.total(result.groups.all[0]!)).toBe(4);
  });

  test('are counted by host where that is the domain', () => {
    const { topologyCounts, groups } = counted(
      [own({ topologyKey: hostname }), running('a', 'n2'), running('b', 'n2')],
      nodes,
    );
    expect(['n1', 'n2', 'zone-b'].map((host) => topologyCounts.count(groups.all[0]!, host))).toEqual([0, 2, 0]);
  });

  test('are in no domain on a node without the label', () => {
    const { topologyCounts, groups } = counted([own({ topologyKey: 'example.com/rack' }), running('a', 'n1')], nodes);
    expect(topologyCounts.total(groups.all[0]!)).toBe(0);
  });

  const taints: Taint[] = [{ key: 'apart', effect: 'NoSchedule' }];
  const tainted = [nodes[0]!, node('n2', { zone: 'zone-b', taints })];
  const both = [running('a', 'n1'), running('b', 'n2')];
  test.each<[string, Pod, Node[], number[]]>([
    ['count on every node', own(), tainted, [1, 1]],
    ['not where the taints are honoured', own({ nodeTaintsPolicy: 'Honor' }), tainted, [1, 0]],
    ['not where the node affinity keeps off', own({}, { nodeSelector: { [zone]: 'zone-b' } }), tainted, [0, 1]],
    [
      'for affinity wherever they are',
      pod('own', {
        nodeSelector: { [zone]: 'zone-b' },
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: zone, labelSelector: { matchLabels: { app: 'web' } } },
            ],
          },
        },
      }),
      tainted,
      [1, 1],
    ],
  ])('%s', (_, pending, there, expected) => {
    expect(byZone(counted([pending, ...both], there))).toEqual(expected);
  });

  test('are not read where no pod has a rule', () => {
    const { groups } = counted([pod('plain'), running('a', 'n1', { namespace: 'other' })], nodes);
    expect(groups.all).toEqual([]);
    expect(groups.identities).toHaveLength(1);
  });
});

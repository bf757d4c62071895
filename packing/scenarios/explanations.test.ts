import { describe, expect, test } from '@jest/globals';
import type { DaemonSet, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import {
  instanceType,
  offering,
  packingInput,
  pod,
  podsOf,
  pool,
  type PodOptions,
  type PoolOptions,
} from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { PackingInput, Plan, TypeGroup } from '../types.js';

const { zone, capacityType, arch } = labels;
const family = 'example.com/family';
const at = (time: string): number => Date.parse(`2026-01-05T${time}:00Z`);

const small = [2, 4].map((cpu) => instanceType(`m5.x${cpu}`, { cpu, labels: { [family]: 'm' } }));
const large = [8, 16].map((cpu) => instanceType(`c5.x${cpu}`, { cpu, labels: { [family]: 'c' } }));
const types = [...small, ...large];

const explaining = (input: PackingInput): PackingInput => ({
  ...input,
  settings: { ...input.settings, explainTypes: true },
});

interface World {
  readonly types?: readonly InstanceType[];
  readonly pool?: PoolOptions;
  readonly daemonSets?: readonly DaemonSet[];
  /** Pods beside the one that is asked about. */
  readonly beside?: number;
}

/** What stops the types of the one pool for a pod, which is named so that it comes last. */
function groupsFor(options: PodOptions, world: World = {}): readonly TypeGroup[] {
  const pods = podsOf(1 + (world.beside ?? 0), 'p', options);
  const nodePools = [pool('default', world.pool)];
  const daemonSets = world.daemonSets === undefined ? {} : { daemonSets: world.daemonSets };
  const result = plan(explaining(packingInput({ pods, nodePools, ...daemonSets }, { types: world.types ?? types })));
  const { explanation } = result.unschedulable.at(-1)!;
  const [only] = result.explanations![explanation!]!.nodePools;
  expect(only!.nodePool).toBe('default');
  return only!.typeGroups;
}

/** `title: message`. */
const outcome = (groups: readonly TypeGroup[]): string[] => groups.map(({ group, message }) => `${group}: ${message}`);

const daemonSet = (spec: Partial<PodSpec>): DaemonSet => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'daemon', namespace: 'kube-system' },
  spec: { selector: {}, template: { spec: { containers: [{ name: 'main' }], ...spec } } },
});
const cpuDaemon = (cpu: string, nodeSelector: Record<string, string>): DaemonSet =>
  daemonSet({ containers: [{ name: 'main', resources: { requests: { cpu } } }], nodeSelector });

const soldOut = (name: string, options: { until?: string; reason?: string; zones: string[] }): InstanceType =>
  instanceType(name, {
    cpu: 4,
    offerings: options.zones.map((each) =>
      offering(each, 'spot', 0.1, {
        available: false,
        ...(options.reason === undefined ? {} : { unavailableReason: options.reason }),
        ...(options.until === undefined ? {} : { unavailableUntil: at(options.until) }),
      }),
    ),
  });

describe('explanations: each group of instance types has its first blocker', () => {
  const inPool = (key: string, ...values: string[]): PoolOptions => ({
    requirements: [{ key, operator: 'In', values }],
  });
  test.each<[string, PodOptions, World, string[]]>([
    [
      'too little of a resource, with the most that there is',
      { cpu: '96' },
      {},
      ['c5 and m5 (4 types): cpu 96 exceeds what they leave for pods, at most 16 on c5.x16'],
    ],
    [
      'the first resource that is short of each',
      { cpu: '6', memory: '100Gi' },
      {},
      [
        'm5 (2 types): cpu 6 exceeds what they leave for pods, at most 4 on m5.x4',
        'c5 (2 types): memory 100Gi exceeds what they leave for pods, at most 64Gi on c5.x16',
      ],
    ],
    [
      'no such resource at all',
      { requests: { 'nvidia.com/gpu': '1' } },
      {},
      ['c5 and m5 (4 types): they have no nvidia.com/gpu for pods'],
    ],
    [
      'what DaemonSets take, which run on some types alone',
      { cpu: '7' },
      { daemonSets: [cpuDaemon('10', { [family]: 'c' })] },
      [
        'c5 and m5 (3 types): cpu 7 exceeds what they leave for pods, at most 6 on c5.x16',
        'c5.x8: they have no cpu for pods',
      ],
    ],
    [
      'a label with another value',
      { nodeSelector: { [arch]: 'arm64' } },
      {},
      ['c5 and m5 (4 types): none of them has kubernetes.io/arch In [arm64]'],
    ],
    [
      'a label that is not known, with the one that was probably meant',
      { nodeSelector: { 'topology.kubernetes.io/zon': 'zone-a' } },
      {},
      [
        'c5 and m5 (4 types): label topology.kubernetes.io/zon is not known here (did you mean topology.kubernetes.io/zone?); ' +
          'the pod asks for topology.kubernetes.io/zon In [zone-a]',
      ],
    ],
    [
      'requirements that only together are too much',
      { nodeSelector: { [zone]: 'zone-a', [capacityType]: 'spot' } },
      {
        types: [
          instanceType('m5.x4', {
            cpu: 4,
            offerings: [offering('zone-a', 'on-demand', 1), offering('zone-b', 'spot', 1)],
          }),
        ],
      },
      ['m5.x4: none of them satisfies all requirements of the pod together'],
    ],
    [
      'what the NodePool leaves out, and what stops the others',
      { cpu: '6' },
      { pool: inPool(family, 'm') },
      [
        'm5 (2 types): cpu 6 exceeds what they leave for pods, at most 4 on m5.x4',
        `c5 (2 types): the requirements of the NodePool leave them out: ${family} In [m]`,
      ],
    ],
    [
      'a zone of the NodePool in which it is not sold',
      {},
      { pool: inPool(zone, 'zone-z') },
      [`c5 and m5 (4 types): the requirements of the NodePool leave them out: ${zone} In [zone-z]`],
    ],
    [
      'the taint of the NodePool',
      {},
      { pool: { taints: [{ key: 'apart', effect: 'NoSchedule' }] } },
      ['c5 and m5 (4 types): the pod does not tolerate the taint apart:NoSchedule'],
    ],
    [
      'its limits, where a type would do',
      { cpu: '5' },
      { pool: { limits: { cpu: '16' } }, beside: 9 },
      [
        'm5 (2 types): cpu 5 exceeds what they leave for pods, at most 4 on m5.x4',
        'c5 (2 types): the limits of the NodePool leave no room for another node (cpu: 0 left, 8 needed)',
      ],
    ],
    [
      'topology, where a type would do',
      {
        cpu: '5',
        labels: { app: 'web' },
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: zone, labelSelector: { matchLabels: { app: 'web' } } },
            ],
          },
        },
      },
      { beside: 3 },
      [
        'm5 (2 types): cpu 5 exceeds what they leave for pods, at most 4 on m5.x4',
        `c5 (2 types): every ${zone} that it may use has a pod that its anti-affinity keeps away from`,
      ],
    ],
    [
      'a host port of a DaemonSet that runs there',
      { containers: [{ name: 'main', ports: [{ containerPort: 80, hostPort: 80 }] }] },
      {
        daemonSets: [daemonSet({ containers: [{ name: 'main', ports: [{ containerPort: 80, hostPort: 80 }] }] })],
      },
      ['c5 and m5 (4 types): a DaemonSet uses a host port that the pod asks for'],
    ],
    [
      'capacity that is out, until when the first is tried again',
      {},
      {
        types: [
          soldOut('m5.x2', { zones: ['zone-a'], reason: 'out of capacity', until: '14:05' }),
          soldOut('m5.x4', { zones: ['zone-a'], reason: 'out of capacity', until: '14:02' }),
          soldOut('c5.x4', { zones: ['zone-b', 'zone-a'] }),
        ],
      },
      [
        'm5 (2 types): no capacity left in zone-a spot: out of capacity; excluded until 14:02 UTC',
        'c5.x4: no capacity left in zone-a spot, zone-b spot',
      ],
    ],
    [
      'capacity that is out where the pod may go, not elsewhere',
      { nodeSelector: { [zone]: 'zone-b' } },
      { types: [soldOut('c5.x4', { zones: ['zone-b', 'zone-a'] }), soldOut('m5.x4', { zones: ['zone-a'] })] },
      ['c5.x4: no capacity left in zone-b spot', `m5.x4: none of them has ${zone} In [zone-b]`],
    ],
    [
      'nothing for sale',
      {},
      { types: [instanceType('m5.x4', { cpu: 4, offerings: [] })] },
      ['m5.x4: none of their offerings is available'],
    ],
    [
      'a contradiction of the pod itself',
      {
        nodeSelector: { [zone]: 'zone-a' },
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: zone, operator: 'In', values: ['zone-b'] }] }],
            },
          },
        },
      },
      {},
      [`c5 and m5 (4 types): the pod's own requirements on ${zone} contradict each other`],
    ],
  ])('%s', (_, options, world, expected) => {
    expect(outcome(groupsFor(options, world))).toEqual(expected);
  });

  test('is data: reason, subject, names, when it is retried, and which label was meant', () => {
    expect(groupsFor({ cpu: '96' })).toStrictEqual([
      {
        group: 'c5 and m5 (4 types)',
        types: 4,
        instanceTypes: ['c5.x16', 'c5.x8', 'm5.x2', 'm5.x4'],
        reason: 'Resources',
        subject: 'cpu',
        message: 'cpu 96 exceeds what they leave for pods, at most 16 on c5.x16',
      },
    ]);
    const out = groupsFor({}, { types: [soldOut('m5.x4', { zones: ['zone-b', 'zone-a'], until: '14:05' })] });
    expect(out).toMatchObject([{ reason: 'Offerings', subject: 'zone-a, zone-b', until: '2026-01-05T14:05:00.000Z' }]);
    const meant = groupsFor({ nodeSelector: { 'topology.kubernetes.io/zon': 'zone-a' } });
    expect(meant).toMatchObject([{ subject: 'topology.kubernetes.io/zon', didYouMean: zone }]);
  });

  test("is part of the NodePool's blocker, with when it is retried and which label was meant", () => {
    const blockerOf = (options: PodOptions, catalogue: readonly InstanceType[]) =>
      plan(packingInput({ pods: [pod('p', options)] }, { types: catalogue })).unschedulable[0]!.blockers[0];
    expect(blockerOf({}, [soldOut('m5.x4', { zones: ['zone-a'], until: '14:05' })])).toStrictEqual({
      nodePool: 'default',
      reason: 'Offerings',
      subject: 'zone-a',
      message: 'm5.x4 in zone-a has no spot capacity; excluded until 14:05 UTC',
      until: '2026-01-05T14:05:00.000Z',
    });
    expect(blockerOf({ nodeSelector: { 'topology.kubernetes.io/zon': 'a' } }, types)).toMatchObject({
      didYouMean: zone,
    });
  });

  test.each<[string[], string]>([
    [['a1.x'], 'a1.x'],
    [['a1.x', 'a1.y'], 'a1 (2 types)'],
    [['b1.x', 'a1.y'], 'a1 and b1 (2 types)'],
    [['a1.x', 'b1.y', 'c1.z'], 'a1, b1 and c1 (3 types)'],
    [['a1.x', 'b1.y', 'c1.z', 'd1.z'], 'a1, b1 and 2 other families (4 types)'],
  ])('explanations: %j are %s', (names, expected) => {
    const catalogue = names.map((name) => instanceType(name, { cpu: 1 }));
    expect(groupsFor({ cpu: '96' }, { types: catalogue }).map(({ group }) => group)).toEqual([expected]);
  });

  test('explanations list twenty names at most, and count all', () => {
    const catalogue = Array.from({ length: 25 }, (_, n) => instanceType(`a1.x${n}`, { cpu: 1 }));
    const [group] = groupsFor({ cpu: '96' }, { types: catalogue });
    expect([group!.types, group!.instanceTypes.length]).toEqual([25, 20]);
  });
});

describe('explanations of unplaced pods', () => {
  const two = [pool('a', { requirements: [{ key: family, operator: 'In', values: ['m'] }] }), pool('b')];
  const pods = [...podsOf(3, 'huge', { cpu: '96' }), ...podsOf(2, 'gpu', { requests: { 'nvidia.com/gpu': '1' } })];
  const explained = (more: Partial<Parameters<typeof packingInput>[0]> = {}): Plan =>
    plan(explaining(packingInput({ pods, nodePools: two, ...more }, { types })));

  test('are shared by equal pods, and go through every NodePool that may launch nodes', () => {
    const { unschedulable, explanations } = explained();
    expect(unschedulable.map(({ explanation }) => explanation)).toEqual([0, 0, 1, 1, 1]);
    expect(explanations).toHaveLength(2);
    for (const { nodePools } of explanations!) {
      expect(nodePools.map(({ nodePool }) => nodePool)).toEqual(['b', 'a']);
      for (const { typeGroups } of nodePools) {
        expect(typeGroups.reduce((sum, each) => sum + each.types, 0)).toBe(types.length);
      }
    }
  });

  test('are equal whatever the order of the input', () => {
    const turned = plan(
      explaining(
        packingInput({ pods: [...pods].reverse(), nodePools: [...two].reverse() }, { types: [...types].reverse() }),
      ),
    );
    expect(JSON.stringify(turned)).toBe(JSON.stringify(explained()));
  });

  // Rule `provisioning/rejected-pods`.
  test('are absent for a pod that is refused as invalid, and where they are not requested', () => {
    const refused = explained({ pods: [pod('bad', { cpu: 'one' })] });
    expect(refused.unschedulable[0]).not.toHaveProperty('explanation');
    expect(refused.explanations).toEqual([]);
    const plain = plan(packingInput({ pods }, { types }));
    expect(plain).not.toHaveProperty('explanations');
    for (const each of plain.unschedulable) expect(each).not.toHaveProperty('explanation');
  });

  test('leave out NodePools that may launch nothing, which have a blocker', () => {
    const deleting = { ...pool('gone'), metadata: { name: 'gone', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const { explanations, unschedulable } = explained({ nodePools: [deleting] });
    expect(explanations![0]).toEqual({ nodePools: [] });
    expect(unschedulable[0]!.blockers).toMatchObject([{ nodePool: 'gone', reason: 'NotReady' }]);
  });
});

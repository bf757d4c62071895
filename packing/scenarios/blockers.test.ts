import { describe, expect, test } from '@jest/globals';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import {
  instanceType,
  node,
  offering,
  packingInput,
  pod,
  podsOf,
  pool,
  type PodOptions,
  type PoolOptions,
} from '../../test/builders/packing-fixtures.js';
import { spreads } from '../../test/builders/topology.js';
import { plan } from '../plan.js';
import type { Blocker, ClusterObjects } from '../types.js';

/** What stops the first pod that is left out, in the first NodePool. */
function blockerOf(objects: Partial<ClusterObjects>, world: Parameters<typeof packingInput>[1] = {}): Blocker {
  return plan(packingInput({ pods: [pod('p')], ...objects }, world)).unschedulable[0]!.blockers[0]!;
}

const team = 'example.com/team';

// Rule `scheduling/blocking-reason`.
describe('the first blocker of a NodePool', () => {
  const required = (key: string, operator: 'In' | 'NotIn' | 'DoesNotExist', ...values: string[]): PodOptions => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] }],
        },
      },
    },
  });

  test.each<[string, PoolOptions, PodOptions, string]>([
    [
      'a requirement of the pool',
      { requirements: [{ key: labels.capacityType, operator: 'In', values: ['spot'] }] },
      { nodeSelector: { [labels.capacityType]: 'on-demand' } },
      `the NodePool asks for ${labels.capacityType} In [spot], and the pod for ${labels.capacityType} In [on-demand]`,
    ],
    [
      'a label of the pool that the pod refuses',
      { labels: { [team]: 'red' } },
      required(team, 'DoesNotExist'),
      `the NodePool asks for ${team} In [red], and the pod for ${team} DoesNotExist`,
    ],
    [
      'a label of another pool, misspelt',
      { labels: { [team]: 'red' } },
      { nodeSelector: { 'example.com/taem': 'red' } },
      'label example.com/taem is not known here (did you mean example.com/team?); the pod asks for example.com/taem In [red]',
    ],
    [
      'a node by its name',
      {},
      { nodeSelector: { [labels.hostname]: 'n1' } },
      `the pod asks for an existing node: ${labels.hostname} In [n1]`,
    ],
    ['an empty value', {}, { nodeSelector: { [team]: '' } }, `label ${team} is not known here; the pod asks for ${team} In [""]`], // prettier-ignore
  ])('%s', (_, poolOptions, options, message) => {
    const objects = { pods: [pod('p', options)], nodePools: [pool('default', poolOptions)] };
    expect(blockerOf(objects)).toMatchObject({ reason: 'Requirements', message });
  });

  test("with crossed bounds on a NodePool's own label its nodes have no such label (requirements/nothing-left)", () => {
    const requirements = [
      { key: team, operator: 'Gt' as const, values: ['8'] },
      { key: team, operator: 'Lt' as const, values: ['4'] },
    ];
    const nodePools = [pool('default', { requirements })];
    const asking = pod('asking', { nodeSelector: { [team]: '6' } });
    const { newNodeClaims, unschedulable } = plan(packingInput({ nodePools, pods: [pod('any'), asking] }));
    expect(newNodeClaims.map(({ pods }) => pods)).toEqual([['default/any']]);
    expect(newNodeClaims[0]!.requirements.filter(({ key }) => key === team)).toEqual([
      { key: team, operator: 'DoesNotExist' },
    ]);
    expect(unschedulable[0]!.blockers[0]).toMatchObject({
      reason: 'Requirements',
      message: `the NodePool asks for ${team} DoesNotExist, and the pod for ${team} In [6]`,
    });
  });

  test('names a label that every type has where the NodePool leaves no value for it (requirements/nothing-left)', () => {
    const requirements = ['a', 'b'].map((zone) => ({ key: labels.zone, operator: 'In' as const, values: [zone] }));
    expect(blockerOf({ nodePools: [pool('default', { requirements })] })).toMatchObject({
      reason: 'Invalid',
      message: `its requirements allow no instance type: they leave no value for ${labels.zone}`,
    });
  });

  test('names the label of contradicting requirements', () => {
    const contrary = { nodeSelector: { [labels.zone]: 'zone-a' }, ...required(labels.zone, 'In', 'zone-b') };
    expect(blockerOf({ pods: [pod('p', contrary)] })).toEqual({
      nodePool: 'default',
      reason: 'Requirements',
      subject: labels.zone,
      message: `the pod's own requirements on ${labels.zone} contradict each other`,
    });
  });

  test('names DaemonSets that leave no room', () => {
    const containers = [{ name: 'main', resources: { requests: { cpu: '65' } } }];
    const template = { spec: { containers } };
    const daemonSets = [
      { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'd' }, spec: { selector: {}, template } },
    ];
    expect(blockerOf({ daemonSets })).toMatchObject({
      reason: 'Resources',
      message: 'DaemonSets leave no room for cpu 1 on the instance types that the pod may use',
    });
  });

  test('names minValues that the types which hold the pod do not meet', () => {
    const requirements = [{ key: labels.instanceType, operator: 'Exists' as const, minValues: 3 }];
    const objects = { pods: [pod('p', { cpu: '20' })], nodePools: [pool('default', { requirements })] };
    expect(blockerOf(objects)).toEqual({
      nodePool: 'default',
      reason: 'MinValues',
      subject: labels.instanceType,
      message: `the instance types that hold the pod have 2 different ${labels.instanceType}, and minValues asks for 3`,
    });
  });

  test('names the exhausted limit with what is left of it', () => {
    const objects = {
      pods: [pod('p', { cpu: '3' })],
      nodePools: [pool('default', { limits: { cpu: '3', memory: '1Ti' } })],
    };
    expect(blockerOf(objects)).toEqual({
      nodePool: 'default',
      reason: 'Limits',
      subject: 'cpu',
      message: 'the limits of the NodePool leave no room for another node (cpu: 3 left, 4 needed)',
    });
  });

  test('names the limit where it, and not the spread, keeps pods out of other zones', () => {
    const spread = [{ maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' as const, labelSelector: { matchLabels: { app: 'x' } } }]; // prettier-ignore
    const pods = podsOf(6, 'p', { cpu: '2', labels: { app: 'x' }, topologySpreadConstraints: spread });
    expect(blockerOf({ pods, nodePools: [pool('default', { limits: { cpu: '4' } })] })).toMatchObject({
      reason: 'Limits',
      subject: 'cpu',
    });
  });

  test('names a capacity reservation without free capacity', () => {
    const types = [
      instanceType('m4', { cpu: 4, offerings: [offering('zone-a', 'reserved', 0.1, { reservationCapacity: 1 })] }),
    ];
    expect(blockerOf({ pods: podsOf(2, 'p', { cpu: '3' }) }, { types })).toMatchObject({
      reason: 'Offerings',
      message: 'capacity reservation m4/zone-a has no instance left',
    });
  });

  test('names larger types without capacity where those with capacity are too small', () => {
    const gone = {
      available: false,
      unavailableReason: 'out of capacity',
      unavailableUntil: Date.UTC(2026, 0, 1, 14, 5),
    };
    const types = [
      instanceType('m4', { cpu: 4 }),
      instanceType('a8', { cpu: 8, offerings: [offering('zone-a', 'spot', 0.1, gone)] }),
      instanceType('m16', { cpu: 16, offerings: [offering('zone-b', 'spot', 0.1, gone)] }),
    ];
    const reasonOf = (cpu: string): Blocker => blockerOf({ pods: [pod('p', { cpu })] }, { types });
    expect(reasonOf('10')).toMatchObject({
      reason: 'Offerings',
      subject: 'zone-b',
      message: 'm16 in zone-b has no spot capacity: out of capacity; excluded until 14:05 UTC',
    });
    expect(reasonOf('20')).toMatchObject({ reason: 'Resources', subject: 'cpu' });
  });

  test('names a spread over a label that no node has', () => {
    const spread = [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' as const }];
    expect(blockerOf({ pods: [pod('p', { topologySpreadConstraints: spread })] }).message).toBe(
      'no node for it has, or could have, the label rack',
    );
  });

  test('names the invalid field of a NodePool that no controller has validated yet', () => {
    const taint = { key: 'a', effect: 'NoSchedule' as const };
    const nodePools = [pool('default', { taints: [taint], startupTaints: [taint] })];
    const pods = [pod('p', { tolerations: [{ operator: 'Exists' }] })];
    expect(blockerOf({ pods, nodePools }).message).toMatch(
      /^NodePool default is not valid: spec\.template\.spec\.startupTaints/,
    );
  });
});

const volumeIn = (name: string, zone: string): [PersistentVolumeClaim, PersistentVolume] => [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName: name },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: labels.zone, operator: 'In', values: [zone] }] }],
        },
      },
    },
  },
];
describe('blockers of volumes in other zones', () => {
  const volumes = [volumeIn('a', 'zone-a'), volumeIn('b', 'zone-b')];
  const cluster = {
    persistentVolumeClaims: volumes.map(([claim]) => claim),
    persistentVolumes: volumes.map(([, volume]) => volume),
  };
  const using = (...names: string[]) => names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));

  test("name the volume whose zone the pod's selector excludes", () => {
    const pods = [pod('p', { nodeSelector: { [labels.zone]: 'zone-b' }, volumes: using('a') })];
    expect(blockerOf({ pods, ...cluster })).toMatchObject({
      reason: 'Volumes',
      message: `the pod asks for other values of ${labels.zone} than volume a of the pod (PersistentVolume a)`,
    });
  });

  test('name two volumes in different zones', () => {
    expect(blockerOf({ pods: [pod('p', { volumes: using('a', 'b') })], ...cluster })).toMatchObject({
      reason: 'Volumes',
      message: `there is no value of ${labels.zone} for all of volume a of the pod (PersistentVolume a), volume b of the pod (PersistentVolume b)`,
    });
  });
});

test.each<[string, string[], string]>([
  [
    'the NodePool does not have',
    ['zone-b'],
    'the NodePool asks for zone In [zone-b], and volume a of the pod (PersistentVolume a) for zone In [zone-a]',
  ],
  [
    'no type is sold in',
    [],
    'no instance type has zone In [zone-a], which volume a of the pod (PersistentVolume a) asks for',
  ],
])("the blocker of a volume's zone that %s names the volume", (_, values, message) => {
  const nodePools = [
    pool('p', values.length === 0 ? {} : { requirements: [{ key: labels.zone, operator: 'In', values }] }),
  ];
  const [claim, volume] = volumeIn('a', 'zone-a');
  const volumes = [{ name: 'a', persistentVolumeClaim: { claimName: 'a' } }];
  const types = [instanceType('m4', { cpu: 4, zones: ['zone-b', 'zone-c'] })];
  const blocker = blockerOf(
    { pods: [pod('p', { volumes })], nodePools, persistentVolumeClaims: [claim], persistentVolumes: [volume] },
    { types },
  );
  expect(blocker.message).toBe(message.replaceAll(' zone In', ` ${labels.zone} In`));
});

test('the blocker names the only domain that a spread leaves, where nothing can be launched and nodes are full', () => {
  const nodePools = [pool('default', { requirements: [{ key: labels.zone, operator: 'In', values: ['zone-a'] }] })];
  const nodes = [node('full', { cpu: '100m', zone: 'zone-c', pool: 'none' })];
  const pods = podsOf(2, 'p', { labels: { app: 'web' }, ...spreads() });
  expect(blockerOf({ pods, nodePools, nodes })).toMatchObject({
    reason: 'Topology',
    subject: labels.zone,
    message: `by its spread only ${labels.zone} zone-c is left (zone-a: 1, zone-c: 0): no node is launched for it there, and those that are there have no room`,
  });
});

test('the blocker names static NodePools where there are no others', () => {
  const fixed = pool('fixed');
  const nodePools = [{ ...fixed, spec: { ...fixed.spec, replicas: 2 } }];
  expect(blockerOf({ nodePools }).message).toBe(
    'there is no NodePool that launches nodes for pods: static ones (fixed) keep spec.replicas nodes',
  );
});

describe('the reason of an unplaced pod', () => {
  const reasonOf = (own: PodOptions, pools: readonly [string, PoolOptions][]): string => {
    const nodePools = pools.map(([name, more]) => pool(name, more));
    return plan(packingInput({ pods: [pod('p', own)], nodePools })).unschedulable[0]!.reason;
  };

  test('names the NodePools that the pod selects first, and all others together', () => {
    const others = ['b', 'c', 'd', 'e', 'f'].map((name): [string, PoolOptions] => [name, {}]);
    const reason = reasonOf({ nodeSelector: { [labels.nodePool]: 'a', [team]: 'red' } }, [
      ...others,
      ['a', { labels: { [team]: 'blue' } }],
    ]);
    expect(reason).toMatch(/^a: the NodePool asks for example\.com\/team In \[blue\]/);
    expect(reason).toMatch(/; f, e, d and 2 more NodePools: the pod asks for karpenter\.sh\/nodepool In \[a\]$/);
  });

  test('begins with the NodePool that lacks only room, and counts those whose requirements never match', () => {
    const never = Array.from({ length: 25 }, (_, i): [string, PoolOptions] => [
      `t${i}`,
      { labels: { [team]: `t${i}` } },
    ]);
    const reason = reasonOf({ nodeSelector: { [team]: 'red' } }, [
      ...never,
      ['red', { labels: { [team]: 'red' }, limits: { cpu: '0' } }],
    ]);
    expect(reason).toMatch(/^red: the limits of the NodePool leave no room/);
    expect(reason).toMatch(/; 23 more NodePools for other reasons$/);
  });

  test('has NodePools that no pod could use, or that the pod does not ask for, behind the one that matters', () => {
    const contradiction = ['a', 'b'].map((zone) => ({ key: labels.zone, operator: 'In' as const, values: [zone] }));
    const none = pool('none', { requirements: contradiction, weight: 100 });
    const unready = ['one', 'two', 'three'].map((name) => {
      const status = { conditions: [{ type: 'Ready', status: 'False' as const, message: 'no subnet' }] };
      return { ...pool(name, { weight: 50, labels: { [team]: 'blue' } }), status };
    });
    const nodePools = [none, ...unready, pool('plain')];
    const reasonFor = (own: PodOptions): string =>
      plan(packingInput({ pods: [pod('p', own)], nodePools })).unschedulable[0]!.reason;

    const unknown = 'label example.com/x is not known here; the pod asks for example.com/x In [y]';
    expect(reasonFor({ nodeSelector: { 'example.com/x': 'y' } })).toMatch(
      `plain, one, three and 1 more NodePool: ${unknown}`,
    );
    expect(reasonFor({ nodeSelector: { [team]: 'red' } })).toMatch(/^plain: label example.com\/team is not known here/);
    const gone = { nodeSelector: { [labels.nodePool]: 'gone' } };
    expect(reasonFor(gone)).toBe(
      `none, plain, one and 2 more NodePools: the pod asks for ${labels.nodePool} In [gone]`,
    );
    expect(reasonFor({ nodeSelector: { [team]: 'blue' } })).toMatch(/^one: NodePool one is not ready: no subnet; /);
  });

  test('groups NodePools with the same blocker', () => {
    const reason = reasonOf({ nodeSelector: { [team]: 'red' } }, [
      ['a', { labels: { [team]: 'blue' } }],
      ['b', { labels: { [team]: 'blue' } }],
    ]);
    expect(reason).toMatch(/^b, a: the NodePool asks for example\.com\/team In \[blue\], and the pod for [^:]*$/);
  });
});

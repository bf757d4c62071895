import type { DaemonSet, KubernetesObject } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { offering } from '../cases/catalogues.js';
import { daemonSet } from '../cases/objects.js';
import type { CatalogueEntry } from '../checker/types.js';
import { consolidates } from './consolidations.js';
import { budget, cheap, claimed, dear, fleet, marked, of, on, onDemand, poolWith, sold } from './disruption/fleet.js';
import { plans } from './plans.js';
import { claim, inTerms, named, storage, using, volume } from './scheduling/volumes.js';
import type { Check } from './conformance-case.js';
import { affinity, antiAffinity, constraint, likesAntiAffinity, spread } from './topology-terms.js';
import {
  all,
  integer,
  node,
  noneOf,
  oneOf,
  op,
  pod,
  poolOf,
  pods,
  pool,
  size,
  type,
  zone1,
  zone2,
  zone3,
} from './world.js';

const { zone, hostname, instanceType, capacityType, nodePool } = labels;
const team = 'example.com/team';
const x = { labels: { app: 'x' } };
const dedicated = { key: 'dedicated', value: 'x', effect: 'NoSchedule' as const };
const tolerations = [{ key: 'dedicated', operator: 'Exists' as const }];
const starting = { key: 'starting', effect: 'NoSchedule' as const };
const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' as const };
const ended = '2026-01-01T23:59:00Z';
const reservation = 'karpenter.k8s.aws/capacity-reservation-id';

/** A type that is reserved in one zone, beside what `type` sells. */
function reservedIn(at: string, count: number, cpu = 4): CatalogueEntry {
  const entry = type('reserved', { cpu, memory: 8, pods: 20 });
  const made = offering(at, 'reserved', 0.000_001);
  const own = { ...made, ReservationCapacity: count, Requirements: [...made.Requirements, oneOf(reservation, 'r')] };
  return { ...entry, offerings: [...entry.offerings, own] };
}
const overlay = (name: string, spec: object): KubernetesObject =>
  ({
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name },
    spec: { weight: 1, ...spec },
  }) as KubernetesObject;
const buffer = (replicas: number, cpu: string): KubernetesObject[] => [
  {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: 'chunk', namespace: 'default' },
    template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } },
  } as KubernetesObject,
  {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'b', namespace: 'default' },
    spec: { podTemplateRef: { name: 'chunk' }, replicas },
    status: {
      podTemplateRef: { name: 'chunk' },
      replicas,
      conditions: [
        {
          type: 'ReadyForProvisioning',
          status: 'True',
          reason: 'Ready',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  } as unknown as KubernetesObject,
];
const inZone = (name: string, at: string): KubernetesObject[] => [
  volume(`v-${name}`, inTerms([{ [zone]: at }])),
  claim(name, { ...named('s'), volumeName: `v-${name}` }),
];
const doNotDisrupt = (value: string) => ({
  metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value } },
});

const withPort = (daemon: DaemonSet, hostPort: number): DaemonSet => {
  const { template } = daemon.spec;
  const containers = [{ name: 'c', ports: [{ containerPort: hostPort, hostPort }] }];
  return { ...daemon, spec: { ...daemon.spec, template: { ...template, spec: { ...template.spec, containers } } } };
};

/** Two rules of Karpenter's or of kube-scheduler's at a time, where its own suites have one. */
export const combined: readonly (readonly [title: string, check: Check])[] = [
  // Taints, minValues, weights.
  [
    'a tainted pool with minValues, for pods that tolerate it',
    plans(
      {
        objects: [
          pool({ taints: [dedicated], requirements: [{ ...op(instanceType, 'Exists'), minValues: 2 }] }),
          pod('p', { tolerations }),
          pod('q'),
        ],
      },
      { left: ['q'], nodes: 1 },
    ),
  ],
  [
    'minValues that a heavier tainted pool cannot meet lead to a lighter one',
    plans(
      {
        objects: [
          pool({ weight: 10, taints: [dedicated], requirements: [{ ...op(size, 'Exists'), minValues: 3 }] }, 'heavy'),
          pool({}, 'light'),
          pod('p', { tolerations }),
        ],
      },
      { by: { [nodePool]: { light: 1 } } },
    ),
  ],
  [
    'PreferNoSchedule on the heavier pool yields to a lighter pool without it',
    plans(
      {
        objects: [
          pool({ weight: 10, taints: [{ ...dedicated, effect: 'PreferNoSchedule' }] }, 'heavy'),
          pool({}, 'light'),
          pod(),
        ],
      },
      { by: { [nodePool]: { light: 1 } } },
    ),
  ],
  [
    'PreferNoSchedule gives way where no other pool has the zone of the volume',
    plans(
      {
        objects: [
          storage('s'),
          ...inZone('c', zone3),
          pool({ requirements: [oneOf(zone, zone3)], taints: [{ ...dedicated, effect: 'PreferNoSchedule' }] }, 'heavy'),
          pool({ requirements: [oneOf(zone, zone1)] }, 'light'),
          pod('p', using('c')),
        ],
      },
      { by: { [nodePool]: { heavy: 1 } } },
    ),
  ],
  [
    'minValues relaxed by BestEffort still heeds a spread',
    plans(
      {
        objects: [pool({ requirements: [{ ...op(size, 'Exists'), minValues: 3 }] }), ...pods(3, { ...x, ...spread() })],
        settings: { minValuesPolicy: 'BestEffort' },
      },
      { by: { [zone]: { [zone1]: 1, [zone2]: 1, [zone3]: 1 } }, relaxed: 3 },
    ),
  ],
  [
    'minValues of zones beside a pod that chooses one: nothing is launched',
    plans(
      {
        objects: [
          pool({ requirements: [{ ...oneOf(integer, '2', '4', '16'), minValues: 3 }] }),
          pod('p', { needs: [oneOf(integer, '4')] }),
        ],
      },
      { left: ['p'], nodes: 0 },
    ),
  ],
  // Spread and reserved, capacity types, limits.
  [
    'a spread over zones with one zone reserved',
    plans(
      { objects: pods(3, { ...x, ...spread() }), catalogue: [reservedIn(zone1, 3)] },
      {
        by: {
          [zone]: { [zone1]: 1, [zone2]: 1, [zone3]: 1 },
          [capacityType]: { reserved: 1, 'on-demand': 2 },
        },
      },
    ),
  ],
  [
    'a spread over capacity types has what is reserved as one of them',
    plans(
      { objects: pods(3, { ...x, ...spread({ topologyKey: capacityType }) }), catalogue: [reservedIn(zone1, 3)] },
      { by: { [capacityType]: { reserved: 1, 'on-demand': 1, spot: 1 } } },
    ),
  ],
  [
    'hosts kept apart, of which two are reserved',
    plans(
      {
        objects: pods(3, {
          ...x,
          ...antiAffinity('x', hostname),
          needs: [oneOf(capacityType, 'reserved', 'on-demand')],
        }),
        catalogue: [reservedIn(zone1, 2)],
      },
      { nodes: 3, by: { [capacityType]: { reserved: 2, 'on-demand': 1 } } },
    ),
  ],
  [
    'a reserved type in a zone that the volume is not in',
    plans(
      { objects: [storage('s'), ...inZone('c', zone2), pod('p', using('c'))], catalogue: [reservedIn(zone1, 3)] },
      { by: { [zone]: { [zone2]: 1 } } },
    ),
  ],
  [
    'a limit that ends before the spread does',
    plans(
      { objects: [pool({ limits: { cpu: '8' } }), ...pods(3, { cpu: '3', ...x, ...spread() })] },
      { left: ['p-2'], nodes: 2 },
    ),
  ],
  [
    'a limit of a heavier pool leads to the lighter one, where hosts are kept apart',
    plans(
      {
        objects: [
          pool({ weight: 10, limits: { cpu: '4' } }, 'heavy'),
          pool({}, 'light'),
          ...pods(2, { cpu: '3', ...x, ...antiAffinity('x', hostname) }),
        ],
      },
      { by: { [nodePool]: { heavy: 1, light: 1 } } },
    ),
  ],
  // Host ports.
  [
    'a host port that is taken on the node there is',
    plans(
      {
        objects: [
          pool(),
          node('n'),
          pod('r', { nodeName: 'n', ports: [{ hostPort: 80 }] }),
          pod('p', { ports: [{ hostPort: 80 }] }),
          pod('q', { ports: [{ hostPort: 81 }] }),
        ],
      },
      { existing: { n: 1 }, nodes: 1 },
    ),
  ],
  [
    'a host port that a terminating pod still has',
    plans(
      {
        objects: [
          pool(),
          node('n'),
          pod('r', { nodeName: 'n', ports: [{ hostPort: 80 }], metadata: { deletionTimestamp: ended } }),
          pod('p', { ports: [{ hostPort: 80 }] }),
        ],
      },
      { existing: {}, nodes: 1 },
    ),
  ],
  [
    'a host port of one address beside that of another, and of any',
    plans(
      {
        objects: [
          pool(),
          node('n'),
          pod('r', { nodeName: 'n', ports: [{ hostPort: 80, hostIP: '10.0.0.1' }] }),
          pod('p', { ports: [{ hostPort: 80, hostIP: '10.0.0.2' }] }),
          pod('q', { ports: [{ hostPort: 80 }] }),
        ],
      },
      { existing: { n: 1 }, nodes: 1 },
    ),
  ],
  [
    'a host port on a node whose zone the spread does not want',
    plans(
      {
        objects: [
          pool(),
          node('n', { zone: zone1 }),
          node('m', { zone: zone2 }),
          pod('r', { nodeName: 'n', ...x }),
          pod('s', { nodeName: 'm', ports: [{ hostPort: 80 }] }),
          pod('p', { ports: [{ hostPort: 80 }], ...x, ...spread() }),
        ],
      },
      { existing: {}, nodes: 1 },
    ),
  ],
  [
    'a DaemonSet whose host port keeps pods off its types alone',
    plans(
      {
        objects: [
          pool(),
          withPort(daemonSet('d', {}, { nodeSelector: { [labels.arch]: 'arm64' } }), 80),
          pod('p', { cpu: '1', ports: [{ hostPort: 80 }] }),
        ],
      },
      { types: ['default', 'gpu-a', 'gpu-b', 'single-pod', 'small'] },
    ),
  ],
  // Startup taints, DaemonSets, nodes in flight.
  [
    'a DaemonSet that does not tolerate the startup taints counts all the same',
    plans(
      { objects: [pool({ startupTaints: [starting] }), daemonSet('d', { cpu: '2' }), pod('p', { cpu: '3' })] },
      { types: ['arm'], requests: { cpu: 5000 } },
    ),
  ],
  [
    'a DaemonSet that does not tolerate the taints does not',
    plans(
      { objects: [pool({ taints: [dedicated] }), daemonSet('d', { cpu: '2' }), pod('p', { cpu: '3', tolerations })] },
      { requests: { cpu: 3000 } },
    ),
  ],
  [
    'a starting node gets pods in spite of its startup taints',
    plans(
      {
        objects: [
          pool(),
          node('n', { initialized: false, startupTaints: [starting], taints: [starting, notReady] }),
          pod(),
        ],
      },
      { existing: { n: 1 }, nodes: 0 },
    ),
  ],
  [
    'a node that has started takes none once the taint is there again',
    plans(
      { objects: [pool(), node('n', { startupTaints: [starting], taints: [starting] }), pod()] },
      { existing: {}, nodes: 1 },
    ),
  ],
  [
    'nor while it is not ready',
    plans({ objects: [pool(), node('n', { taints: [notReady] }), pod()] }, { existing: {}, nodes: 1 }),
  ],
  [
    'a node that starts keeps room for the DaemonSet that is not there yet',
    plans(
      { objects: [pool(), node('n', { initialized: false }), daemonSet('d', { cpu: '2' }), pod('p', { cpu: '3' })] },
      { existing: {}, types: ['arm'] },
    ),
  ],
  [
    'a DaemonSet that runs on the node already is counted once',
    plans(
      {
        objects: [
          pool(),
          node('n'),
          daemonSet('d', { cpu: '1' }),
          pod('d-1', {
            nodeName: 'n',
            cpu: '1',
            labels: { app: 'd' },
            namespace: 'kube-system',
            metadata: {
              ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'ds-d', controller: true }],
            },
          }),
          pod('p', { cpu: '3' }),
        ],
      },
      { existing: { n: 1 }, nodes: 0 },
    ),
  ],
  // Volumes and preferences.
  [
    'the zone of a volume against a preference for another',
    plans(
      { objects: [storage('s'), ...inZone('c', zone3), pod('p', { ...using('c'), likes: [oneOf(zone, zone1)] })] },
      { by: { [zone]: { [zone3]: 1 } } },
    ),
  ],
  [
    'volumes of two zones are for no node',
    plans(
      {
        objects: [
          storage('s'),
          ...inZone('c', zone1),
          ...inZone('e', zone2),
          pod('p', { volumes: ['c', 'e'].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })) }),
        ],
      },
      { left: ['p'], nodes: 0 },
    ),
  ],
  [
    'who follows a pod goes where its volume is',
    plans(
      {
        objects: [
          storage('s'),
          ...inZone('c', zone2),
          pod('a', { ...using('c'), labels: { app: 'a' } }),
          pod('b', affinity('a')),
        ],
      },
      { by: { [zone]: { [zone2]: 2 } } },
    ),
  ],
  [
    'who keeps away from a pod goes where its volume is not',
    plans(
      {
        objects: [
          pool({ requirements: [oneOf(zone, zone1, zone2)] }),
          storage('s'),
          ...inZone('c', zone2),
          pod('a', { ...using('c'), labels: { app: 'a' } }),
          pod('b', antiAffinity('a')),
        ],
      },
      { by: { [zone]: { [zone1]: 1, [zone2]: 1 } } },
    ),
  ],
  [
    'a spread, one of whose pods has a volume',
    plans(
      {
        objects: [
          pool({ requirements: [oneOf(zone, zone1, zone2)] }),
          storage('s'),
          ...inZone('c', zone1),
          pod('a', { ...using('c'), ...x, ...spread() }),
          pod('b', { ...x, ...spread() }),
        ],
      },
      { by: { [zone]: { [zone1]: 1, [zone2]: 1 } } },
    ),
  ],
  // Topology against node rules.
  [
    'domains of a spread that ignores what the pod asks of nodes',
    plans(
      { objects: pods(2, { ...x, ...spread({ nodeAffinityPolicy: 'Ignore' }), needs: [oneOf(zone, zone1)] }) },
      { left: ['p-1'] },
    ),
  ],
  [
    'minDomains beyond what the pool has',
    plans(
      {
        objects: [
          pool({ requirements: [oneOf(zone, zone1, zone2)] }),
          ...pods(3, { ...x, ...spread({ minDomains: 3 }) }),
        ],
      },
      { left: ['p-2'] },
    ),
  ],
  [
    'revisions are spread each for itself',
    plans(
      {
        objects: ['1', '2'].flatMap((revision) =>
          pods(3, { labels: { app: 'x', revision }, ...spread({ matchLabelKeys: ['revision'] }) }, `r${revision}`),
        ),
      },
      { by: { [zone]: { [zone1]: 2, [zone2]: 2, [zone3]: 2 } } },
    ),
  ],
  [
    'a spread over a label of the pool, whose values the pods leave open',
    plans(
      { objects: [poolOf(oneOf(team, 'a', 'b')), ...pods(4, { ...x, ...spread({ topologyKey: team }) })] },
      { by: { [team]: { a: 2, b: 2 } } },
    ),
  ],
  [
    'a domain that only a node there has, and one that only a pool has',
    plans(
      {
        objects: [
          pool({ labels: { [team]: 'b' } }),
          node('n', { labels: { [team]: 'a' } }),
          ...pods(2, { ...x, ...spread({ topologyKey: team }) }),
        ],
      },
      { existing: { n: 1 }, nodes: 1 },
    ),
  ],
  [
    'hosts there are first, of each no more than the skew',
    plans(
      { objects: [pool(), node('n'), node('m'), ...pods(3, { ...x, ...spread({ topologyKey: hostname }) })] },
      { existing: { n: 1, m: 1 }, nodes: 1 },
    ),
  ],
  [
    'a terminating pod leaves its zone to another',
    plans(
      {
        objects: [
          pool({ requirements: [oneOf(zone, zone1)] }),
          node('n'),
          pod('r', { ...x, nodeName: 'n', metadata: { deletionTimestamp: ended } }),
          pod('p', { ...x, ...antiAffinity('x') }),
        ],
      },
      { existing: { n: 1 } },
    ),
  ],
  [
    'more pods that keep apart by zone than there are zones',
    plans({ objects: pods(4, { ...x, ...antiAffinity('x') }) }, { left: ['p-3'] }),
  ],
  [
    'a preference to keep apart yields to a pool of one zone',
    plans(
      { objects: [poolOf(oneOf(zone, zone2)), ...pods(2, { ...x, ...likesAntiAffinity('x') })] },
      { by: { [zone]: { [zone2]: 2 } } },
    ),
  ],
  [
    'ScheduleAnyway counts for nothing under PREFERENCE_POLICY=Ignore',
    plans(
      {
        objects: pods(3, { ...x, topologySpreadConstraints: [constraint({ whenUnsatisfiable: 'ScheduleAnyway' })] }),
        settings: { preferencePolicy: 'Ignore' },
      },
      { nodes: 1 },
    ),
  ],
  // Requirements.
  [
    'bounds of pool and pod leave one size',
    plans(
      { objects: [poolOf(op(integer, 'Gt', '2')), pod('p', { needs: [op(integer, 'Lt', '16')] })] },
      { by: { [integer]: { '4': 1 } } },
    ),
  ],
  [
    'inclusive bounds that meet',
    plans({ objects: [poolOf(op(integer, 'Gte', '16'), op(integer, 'Lte', '16')), pod()] }, { types: ['arm'] }),
  ],
  [
    'bounds that cross on a label that types have leave nothing',
    plans({ objects: [poolOf(op(integer, 'Gt', '16'), op(integer, 'Lt', '4')), pod()] }, { left: ['p'], nodes: 0 }),
  ],
  [
    'bounds without a common value on an undefined label: nodes lack the label, for a pod that requires its absence too',
    plans(
      {
        objects: [
          poolOf(op(team, 'Gt', '5'), op(team, 'Lt', '3')),
          pod('p', { needs: [op(team, 'DoesNotExist')] }),
          pod('q', { needs: [op(team, 'Exists')] }),
        ],
      },
      { left: ['q'], nodes: 1 },
    ),
  ],
  [
    'pods that choose different values of a label that the pool leaves open',
    plans(
      {
        objects: [
          poolOf(op(team, 'Exists')),
          ...['a', 'b'].map((value) => pod(value, { needs: [oneOf(team, value)] })),
        ],
      },
      { nodes: 2, by: { [team]: { a: 1, b: 1 } } },
    ),
  ],
  [
    'NotIn on a label that no node has',
    plans({ objects: [pool(), pod('p', { needs: [noneOf(team, 'a')] })] }, { nodes: 1 }),
  ],
  [
    'alternatives, of which the first has no pool and the second a taint',
    plans(
      {
        objects: [
          pool({ labels: { [team]: 'a' }, taints: [dedicated] }, 'tainted'),
          pool({ labels: { [team]: 'b' } }, 'open'),
          pod('p', { either: [[oneOf(team, 'c')], [oneOf(team, 'a')], [oneOf(team, 'b')]] }),
        ],
      },
      { by: { [nodePool]: { open: 1 } } },
    ),
  ],
  // NodeOverlays.
  [
    'a NodeOverlay that makes a type the cheapest, beside minValues',
    plans(
      {
        objects: [
          pool({ requirements: [{ ...op(instanceType, 'Exists'), minValues: 2 }] }),
          overlay('o', { requirements: [oneOf(instanceType, 'arm')], price: '0.001' }),
          pod('p', { cpu: '1' }),
        ],
      },
      { by: { [instanceType]: { arm: 1 } } },
    ),
  ],
  [
    'a resource that a NodeOverlay adds is on new nodes alone',
    plans(
      {
        objects: [
          pool(),
          node('n'),
          overlay('o', { requirements: [oneOf(instanceType, 'default')], capacity: { 'example.com/device': '1' } }),
          pod('p', { requests: { 'example.com/device': '1' } }),
        ],
      },
      { existing: {}, types: ['default'] },
    ),
  ],
  // Consolidation.
  [
    'pods that keep apart by host are on no fewer nodes',
    consolidates(
      {
        objects: [
          onDemand(),
          ...['a', 'b'].flatMap((name) => of(name)),
          ...['a', 'b'].map((name) => on(name, `p-${name}`, { ...x, ...antiAffinity('x', hostname) })),
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ],
  [
    'a pod that may not be disrupted, under a termination grace period',
    consolidates(
      {
        objects: [
          onDemand(),
          ...of('a', dear).map((each) =>
            each.kind === 'NodeClaim'
              ? { ...each, spec: { ...(each as { spec?: object }).spec, terminationGracePeriod: '1h' } }
              : each,
          ),
          on('a', 'p', doNotDisrupt('true')),
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ],
  [
    'one whose time is over',
    consolidates(
      {
        objects: [
          onDemand(),
          ...of('a', dear),
          { ...on('a', 'p', doNotDisrupt('1h')), status: { startTime: '2026-01-01T00:00:00Z' } } as KubernetesObject,
        ],
        catalogue: fleet,
      },
      { gone: ['a'], launched: ['cheap'] },
    ),
  ],
  [
    'one whose time is not',
    consolidates(
      {
        objects: [
          onDemand(),
          ...of('a', dear),
          { ...on('a', 'p', doNotDisrupt('48h')), status: { startTime: '2026-01-01T00:00:00Z' } } as KubernetesObject,
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ],
  [
    'a budget of none for one reason, on a node with pods beside an empty one',
    consolidates(
      {
        objects: [
          onDemand({ budgets: [{ nodes: '0', reasons: ['Underutilized'] }, { nodes: '100%' }] }),
          ...of('a', dear),
          on('a', 'p'),
          ...of('e'),
        ],
        catalogue: fleet,
      },
      { gone: ['e'] },
    ),
  ],
  [
    'WhenEmpty beside a buffer: the node with its room stays, the other goes',
    consolidates(
      {
        objects: [onDemand({ consolidationPolicy: 'WhenEmpty' }), ...of('a'), ...of('e'), ...buffer(1, '3')],
        catalogue: fleet,
      },
      { count: 1 },
    ),
  ],
  [
    'a PodDisruptionBudget holds a node, and the empty one beside it goes',
    consolidates(
      {
        objects: [
          onDemand(),
          ...of('a', dear),
          on('a', 'p', { labels: { app: 'kept' } }),
          budget({ minAvailable: 1 }),
          ...of('e'),
        ],
        catalogue: fleet,
      },
      { gone: ['e'] },
    ),
  ],
  [
    'a node that is marked not to be disrupted takes the pods of one that is not',
    consolidates(
      {
        objects: [
          onDemand(),
          ...marked(of('a'), 'Node', {
            annotations: { 'karpenter.sh/do-not-disrupt': 'true' },
            labels: { ...of('a').find(({ kind }) => kind === 'Node')!.metadata.labels },
          }),
          on('a', 'p'),
          ...of('b'),
          on('b', 'q'),
        ],
        catalogue: fleet,
      },
      { gone: ['b'], launched: [] },
    ),
  ],
  [
    'pods with a spread over two zones stay in both',
    consolidates(
      {
        objects: [
          onDemand(),
          ...of('a', cheap, { zone: zone1 }),
          ...of('b', cheap, { zone: zone2 }),
          ...['a', 'b'].map((name) => on(name, `p-${name}`, { ...x, ...spread() })),
        ],
        catalogue: [
          type('cheap', {
            cpu: 4,
            memory: 8,
            pods: 100,
            price: 0.4,
            offerings: all.slice(0, 2).map((at) => offering(at, 'on-demand', 0.4)),
          }),
        ],
      },
      { gone: [] },
    ),
  ],
  [
    'a pod whose volume is in another zone than the node with room',
    consolidates(
      {
        objects: [
          onDemand(),
          storage('s'),
          ...inZone('c', zone1),
          ...of('a', cheap, { zone: zone1 }),
          on('a', 'p', using('c')),
          ...of('b', cheap, { zone: zone2 }),
          on('b', 'q', { needs: [oneOf(zone, zone2)] }),
        ],
        catalogue: [
          type('cheap', {
            cpu: 4,
            memory: 8,
            pods: 100,
            offerings: all.slice(0, 2).map((at) => offering(at, 'on-demand', 0.4)),
          }),
        ],
      },
      { gone: [] },
    ),
  ],
  [
    'minValues that a replacement cannot meet keep the node',
    consolidates(
      {
        objects: [
          poolWith(
            {},
            { requirements: [oneOf(capacityType, 'on-demand'), { ...op(instanceType, 'Exists'), minValues: 3 }] },
          ),
          ...of('a', dear),
          on('a', 'p'),
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ],
  [
    'a NodeOverlay that makes the node cheap keeps it',
    consolidates(
      {
        objects: [
          onDemand(),
          overlay('o', { requirements: [oneOf(instanceType, 'dear')], price: '0.01' }),
          ...of('a', dear),
          on('a', 'p'),
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ],
  [
    'a static pool is never consolidated, empty or not',
    consolidates(
      { objects: [poolWith({}, { replicas: 2 }), ...of('a', dear), ...of('e'), on('a', 'p')], catalogue: fleet },
      { gone: [] },
    ),
  ],
  [
    'a node on spot is replaced by no other on spot without the gate, and goes where its pods fit',
    consolidates(
      {
        objects: [
          poolWith(),
          ...of('a', dear, { capacityType: 'spot' }),
          on('a', 'p'),
          ...of('b', cheap, { capacityType: 'spot' }),
          on('b', 'q'),
        ],
        catalogue: fleet,
      },
      { gone: ['a'], launched: [] },
    ),
  ],
  [
    'a node within its own consolidateAfter takes no pods, and is not taken',
    consolidates(
      {
        objects: [
          onDemand({ consolidateAfter: '1h' }),
          ...claimed(of('a'), { lastPodEventTime: '2026-01-01T23:30:00Z' }),
          on('a', 'p'),
          ...of('b'),
          on('b', 'q'),
        ],
        catalogue: [sold('cheap', 4, 0.4)],
      },
      { gone: [] },
    ),
  ],
];

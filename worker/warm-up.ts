import { jobs } from './packing-jobs.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { DaemonSet, Node, Pod } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import type { InstanceType, Offering } from '../core/instance-type.js';
import type { ClusterObjects, PackingInput } from '../packing/types.js';

// Synthetic clusters for warming up. Together they use most features of pods, pools and nodes, so that the code of a
// real pass has run before.

const gi = 2 ** 30;
const zones = ['made-up-a', 'made-up-b', 'made-up-c', 'made-up-d'];
const capacityTypes = ['spot', 'on-demand'];
const gpu = 'nvidia.com/gpu';

/** Pods with every kind of topology rule, as many as are packed in bulk, without nodes. */
export const crowd = (): PackingInput =>
  inputOf({ pods: Array.from({ length: 600 }, (_, n) => crowdPod(n)), nodePools: [poolOf('default')] });

/** A few Deployments with all features of pods and pools, and nodes with some room; small enough to be searched. */
export const mixedCluster = (): PackingInput => {
  const running = nodesOf(12);
  return inputOf({
    ...running,
    pods: [...running.pods, ...Array.from({ length: 120 }, (_, n) => mixedPod(n))],
    nodePools: [
      poolOf('default', { limits: { cpu: '400', nodes: '30' } }),
      poolOf('preferred', { weight: 10, limits: { cpu: '40' }, minValues: 3 }),
      poolOf('special', { taints: [{ key: 'dedicated', value: 'special', effect: 'NoSchedule' }] }),
    ],
    daemonSets: [daemonSetOf('agent', [{ operator: 'Exists' }]), daemonSetOf('logs', [])],
  });
};

/** Nodes that are half empty. */
export const leftovers = (): PackingInput => inputOf({ ...nodesOf(24), nodePools: [poolOf('default')] });

function inputOf(objects: ClusterObjects): PackingInput {
  const types = [1, 2, 4, 8, 16, 32, 48, 64, 96].flatMap((cpu) => [2, 4, 8].flatMap((ratio) => typesOf(cpu, ratio)));
  return {
    // Copied, as if received from another thread.
    objects: structuredClone(objects),
    catalogues: new Map(objects.nodePools.map(({ metadata }) => [metadata.name ?? '', types])),
    settings: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', wellKnownLabels: [], listedTypes: 60 },
    now: 0,
  };
}

const one = (key: string, value: string) => ({ key, operator: 'In' as const, values: [value] });

function typesOf(cpu: number, ratio: number): InstanceType[] {
  const large = cpu >= 32 && ratio === 4;
  return [...(['amd64', 'arm64'] as const), ...(large ? (['gpu'] as const) : [])].map((arch) => {
    const name = `made-up-${arch}-${cpu}-${ratio}`;
    const price = cpu * (1 + ratio / 8) * (arch === 'amd64' ? 0.021 : arch === 'arm64' ? 0.0187 : 0.093);
    return {
      name,
      requirements: [
        one(labels.instanceType, name),
        one(labels.arch, arch === 'gpu' ? 'amd64' : arch),
        one(labels.os, 'linux'),
        { key: labels.zone, operator: 'In', values: zones },
        { key: labels.capacityType, operator: 'In', values: capacityTypes },
      ],
      offerings: zones.flatMap((zone, z) =>
        capacityTypes.map((capacityType): Offering => ({
          requirements: [one(labels.capacityType, capacityType), one(labels.zone, zone)],
          price: price * (capacityType === 'spot' ? 0.31 + z / 50 : 1),
          available: (cpu + z) % 7 !== 0,
        })),
      ),
      capacity: { cpu: cpu * 1000, memory: cpu * ratio * gi, pods: 110, ...(arch === 'gpu' && { [gpu]: cpu / 16 }) },
      overhead: { cpu: 100, memory: gi / 4 },
    };
  });
}

interface PoolTraits {
  readonly weight?: number;
  readonly limits?: Record<string, string>;
  readonly taints?: unknown[];
  readonly minValues?: number;
}

function poolOf(name: string, { weight, limits, taints, minValues }: PoolTraits = {}): NodePool {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, uid: `pool-${name}` },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'made.up', kind: 'NodeClass', name: 'default' },
          requirements: [
            one(labels.os, 'linux'),
            { key: labels.capacityType, operator: 'In', values: capacityTypes },
            ...(minValues === undefined ? [] : [{ key: labels.instanceType, operator: 'Exists', minValues }]),
          ],
          ...(taints && { taints }),
        },
      },
      ...(limits && { limits }),
      ...(weight !== undefined && { weight }),
      disruption: {
        consolidateAfter: '0s',
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        budgets: [{ nodes: '30%' }],
      },
    },
  } as unknown as NodePool;
}

function daemonSetOf(name: string, tolerations: unknown[]): DaemonSet {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [containerOf(100, 128)], tolerations } };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system', uid: `daemons-${name}` },
    spec: { selector: { matchLabels: { app: name } }, template },
  } as unknown as DaemonSet;
}

const containerOf = (cpu: number, memory: number, more: Record<string, string> = {}) => ({
  name: 'main',
  image: 'made-up',
  resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi`, ...more } },
});

function podOf(name: string, own: Record<string, string>, spec: object, nodeName?: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `pod-${name}`,
      labels: own,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'set', uid: 'set', controller: true }],
    },
    spec: { ...spec, ...(nodeName !== undefined && { nodeName }) },
    status: { phase: nodeName === undefined ? 'Pending' : 'Running' },
  } as unknown as Pod;
}

/** Cycles through all combinations of amounts, label values and rules. */
const pick = <T>(from: readonly T[], n: number): T => from[n % from.length]!;
const cpus = [100, 250, 500, 1000, 1500];
const memories = [100, 256, 512, 1024, 2048, 4096];

const spread = (topologyKey: string, own: Record<string, string>, whenUnsatisfiable = 'DoNotSchedule') => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable,
  labelSelector: { matchLabels: own },
});
const term = (topologyKey: string, own: Record<string, string>) => ({
  topologyKey,
  labelSelector: { matchLabels: own },
});
const required = (topologyKey: string, own: Record<string, string>) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [term(topologyKey, own)],
});
const preferred = (topologyKey: string, own: Record<string, string>) => ({
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, podAffinityTerm: term(topologyKey, own) }],
});

function crowdPod(n: number): Pod {
  const own = { made: pick(['a', 'b', 'c', 'd', 'e', 'f', 'g'], n * 3) };
  const other = { made: pick(['a', 'b', 'c', 'd', 'e', 'f', 'g'], n) };
  const rules: object[] = [
    {},
    { topologySpreadConstraints: [spread(labels.zone, other)] },
    { topologySpreadConstraints: [spread(labels.hostname, other)] },
    { affinity: { podAffinity: required(labels.zone, own) } },
    { affinity: { podAntiAffinity: required(labels.hostname, { apart: 'yes' }) } },
  ];
  const kind = n % rules.length;
  const mine = kind === 4 ? { apart: 'yes' } : own;
  const containers = [containerOf(pick(cpus, Math.floor(n / 5)), pick(memories, Math.floor(n / 7)))];
  return podOf(`crowd-${n}`, mine, { containers, ...rules[kind] });
}

function mixedPod(n: number): Pod {
  const app = n % 15;
  const own = { app: `app-${app}` };
  const zone = (operator: string, ...values: string[]) => ({ key: labels.zone, operator, values });
  const nodeAffinity = (rule: object) => ({ affinity: { nodeAffinity: rule } });
  const special = [{ key: 'dedicated', operator: 'Equal', value: 'special', effect: 'NoSchedule' }];
  const ports = [{ containerPort: 80, hostPort: 8080, protocol: 'TCP' }];
  const main = containerOf(pick(cpus, app * 2), pick(memories, app));
  const traits: object[] = [
    {},
    { nodeSelector: { [labels.arch]: 'arm64' } },
    { nodeSelector: { [labels.capacityType]: 'on-demand' } },
    nodeAffinity({
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [zone('In', ...zones.slice(0, 2))] }],
      },
    }),
    nodeAffinity({
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 5, preference: { matchExpressions: [zone('NotIn', zones[0]!)] } },
      ],
    }),
    { affinity: { podAntiAffinity: preferred(labels.hostname, own) } },
    { affinity: { podAffinity: preferred(labels.zone, own) } },
    { topologySpreadConstraints: [spread(labels.zone, own), spread(labels.hostname, own, 'ScheduleAnyway')] },
    { topologySpreadConstraints: [spread(labels.zone, own), spread(labels.capacityType, own)] },
    { affinity: { podAntiAffinity: required(labels.zone, own) } },
    { affinity: { podAntiAffinity: required(labels.hostname, own) } },
    { affinity: { podAffinity: required(labels.hostname, own) } },
    { tolerations: special, nodeSelector: { [labels.nodePool]: 'special' } },
    { containers: [{ ...main, ports }] },
    { containers: [containerOf(1000, 4096, { [gpu]: '1' })] },
  ];
  return podOf(`mixed-${n}`, own, { containers: [main], ...traits[app] });
}

/** Nodes with their claims and pods: a tenth of them empty, the others a quarter to a half full. */
function nodesOf(
  count: number,
): Required<Pick<ClusterObjects, 'pods' | 'nodes' | 'nodeClaims' | 'podDisruptionBudgets'>> {
  const indexes = Array.from({ length: count }, (_, n) => n);
  const placed = indexes.flatMap((n) => Array.from({ length: n % 10 === 0 ? 0 : 2 + (n % 4) }, (_, k) => [n, k]));
  return {
    nodes: indexes.map((n) => nodeOf(n)),
    nodeClaims: indexes.map((n) => claimOf(n)),
    pods: placed.map(([n = 0, k = 0]) => {
      const own = { app: `old-${(n + k) % 6}` };
      const rules = (n + k) % 6 === 0 ? { affinity: { podAntiAffinity: required(labels.hostname, own) } } : {};
      const containers = [containerOf(pick(cpus, n + k), pick(memories, n + 2 * k))];
      return podOf(`old-${n}-${k}`, own, { containers, ...rules }, `node-${n}`);
    }),
    podDisruptionBudgets: [
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'old', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'old-1' } }, maxUnavailable: 1 },
        status: { disruptionsAllowed: 1, currentHealthy: 5, desiredHealthy: 4, expectedPods: 5 },
      },
    ],
  };
}

function nodeLabels(n: number): Record<string, string> {
  return {
    [labels.instanceType]: `made-up-${pick(['amd64', 'arm64'], n)}-${pick([8, 16, 32], n)}-4`,
    [labels.arch]: pick(['amd64', 'arm64'], n),
    [labels.os]: 'linux',
    [labels.zone]: pick(zones, n),
    [labels.capacityType]: pick(capacityTypes, Math.floor(n / 3)),
    [labels.nodePool]: 'default',
    [labels.registered]: 'true',
    [labels.initialized]: 'true',
  };
}

const amountsOf = (n: number) => ({
  cpu: `${pick([8, 16, 32], n)}`,
  memory: `${pick([8, 16, 32], n) * 4}Gi`,
  pods: '110',
});

const isTrue = (type: string) => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastTransitionTime: '1970-01-01T00:00:00Z',
});

function nodeOf(n: number): Node {
  const name = `node-${n}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `uid-${name}`, labels: { ...nodeLabels(n), [labels.hostname]: name } },
    spec: { providerID: `made-up://${name}`, taints: [] },
    status: { capacity: amountsOf(n), allocatable: amountsOf(n), conditions: [isTrue('Ready')] },
  } as unknown as Node;
}

function claimOf(n: number): NodeClaim {
  const name = `node-${n}`;
  const conditions = ['Launched', 'Registered', 'Initialized', 'Consolidatable', 'Ready'].map(isTrue);
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, uid: `claim-${name}`, labels: nodeLabels(n) },
    spec: { nodeClassRef: { group: 'made.up', kind: 'NodeClass', name: 'default' }, requirements: [], taints: [] },
    status: {
      nodeName: name,
      providerID: `made-up://${name}`,
      capacity: amountsOf(n),
      allocatable: amountsOf(n),
      conditions,
    },
  } as unknown as NodeClaim;
}

/**
 * More rounds cost more than they save: a first real pass takes some 50 ms longer than after eight rounds, which took 6
 * s of processor time.
 */
const rounds = { plan: 3, consolidate: 2 } as const;

/** The duty of a packing thread. */
export type Duty = keyof typeof rounds;

/**
 * Solves small synthetic clusters repeatedly, one per turn, so that the code is compiled before the first real pass.
 * The clusters are created again each time, because results are cached by catalogue.
 */
export function* warmUp(duty: Duty): Generator {
  for (let n = 0; n < rounds[duty]; n++) {
    if (duty === 'plan') {
      yield jobs.plan(crowd());
      yield jobs.plan(mixedCluster());
    } else yield jobs.consolidate(leftovers());
  }
}

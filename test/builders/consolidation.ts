import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Node, Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { ClusterObjects } from '../../packing/types.js';
import type { ConsolidationInput } from '../../disruption/consolidation/types.js';

export const now = Date.parse('2026-11-21T12:00:00Z');
const longAgo = '2026-01-01T00:00:00Z';
const gib = 1024 ** 3;

/** An instance type with a price for each `zone/capacity-type`. */
export function type(name: string, cpu: number, memory: number, prices: Record<string, number>): InstanceType {
  return {
    name,
    requirements: [
      { key: labels.instanceType, operator: 'In', values: [name] },
      { key: labels.arch, operator: 'In', values: ['amd64'] },
      { key: labels.os, operator: 'In', values: ['linux'] },
      { key: labels.zone, operator: 'In', values: [...new Set(Object.keys(prices).map((key) => key.split('/')[0]!))] },
      {
        key: labels.capacityType,
        operator: 'In',
        values: [...new Set(Object.keys(prices).map((key) => key.split('/')[1]!))],
      },
    ],
    offerings: Object.entries(prices).map(([key, price]) => {
      const [zone, capacityType] = key.split('/');
      return {
        requirements: [
          { key: labels.zone, operator: 'In', values: [zone!] },
          { key: labels.capacityType, operator: 'In', values: [capacityType!] },
        ],
        price,
        available: true,
      };
    }),
    capacity: { cpu: cpu * 1000, memory: memory * gib, pods: 110 },
    overhead: {},
  };
}

export const od = (price: number): Record<string, number> => ({ 'a/on-demand': price });
export const small = type('small', 2, 8, od(0.1));
export const large = type('large', 4, 16, od(0.2));
export const huge = type('huge', 16, 64, od(0.8));

interface PoolOptions {
  readonly disruption?: Partial<NodePool['spec']['disruption']>;
  readonly requirements?: NodePool['spec']['template']['spec']['requirements'];
  readonly replicas?: number;
}

export function pool(name: string, { disruption, requirements = [], replicas }: PoolOptions = {}): NodePool {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        spec: { nodeClassRef: { group: 'g', kind: 'K', name: 'default' }, requirements, expireAfter: '720h' },
      },
      disruption: {
        consolidateAfter: '0s',
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        budgets: [{ nodes: '100%' }],
        ...disruption,
      },
      ...(replicas === undefined ? {} : { replicas }),
    },
  };
}

export interface NodeOptions {
  readonly pool?: string;
  readonly zone?: string;
  readonly capacityType?: string;
  readonly annotations?: Record<string, string>;
  readonly initialized?: boolean;
  readonly ready?: boolean;
  readonly claim?: Partial<NodeClaim['status']>;
}

/** A node that runs, with its claim. */
export function node(
  name: string,
  of: InstanceType,
  options: NodeOptions = {},
): { nodes: Node[]; nodeClaims: NodeClaim[] } {
  const { initialized = true, ready = true } = options;
  const own: Record<string, string> = {
    [labels.nodePool]: options.pool ?? 'default',
    [labels.instanceType]: of.name,
    [labels.arch]: 'amd64',
    [labels.os]: 'linux',
    [labels.zone]: options.zone ?? 'a',
    [labels.capacityType]: options.capacityType ?? 'on-demand',
    [labels.registered]: 'true',
    ...(initialized ? { [labels.initialized]: 'true' } : {}),
  };
  const allocatable = {
    cpu: `${of.capacity['cpu']!}m`,
    memory: String(of.capacity['memory']!),
    pods: String(of.capacity['pods']!),
  };
  const condition = (
    conditionType: string,
    holds: boolean,
  ): NonNullable<NonNullable<NodeClaim['status']>['conditions']>[number] => ({
    type: conditionType,
    status: holds ? 'True' : 'False',
    reason: conditionType,
    message: '',
    lastTransitionTime: longAgo,
  });
  return {
    nodes: [
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { ...own, [labels.hostname]: name }, annotations: options.annotations ?? {} },
        spec: { providerID: `p://${name}` },
        status: { capacity: allocatable, allocatable, conditions: [condition('Ready', ready)] },
      },
    ],
    nodeClaims: [
      {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name: `claim-${name}`, uid: `uid-${name}`, labels: own, creationTimestamp: longAgo },
        spec: { nodeClassRef: { group: 'g', kind: 'K', name: 'default' }, requirements: [] },
        status: {
          nodeName: name,
          providerID: `p://${name}`,
          capacity: allocatable,
          allocatable,
          conditions: [condition('Initialized', initialized)],
          ...options.claim,
        },
      } as unknown as NodeClaim,
    ],
  };
}

export function pod(
  name: string,
  nodeName: string,
  cpu: number,
  more: Omit<Partial<Pod>, 'spec'> & { spec?: Partial<Pod['spec']> } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    ...more,
    metadata: { name, namespace: 'default', labels: { app: name.split('-')[0]! }, ...more.metadata },
    spec: {
      nodeName,
      containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: String(cpu), memory: `${cpu}Gi` } } }],
      ...more.spec,
    },
    status: { phase: 'Running', ...more.status },
  };
}

/** What keeps pods of the same app apart: at most one of them in a domain of `topologyKey`. */
export const apartBy = (topologyKey: string, app: string): Pick<Pod['spec'], 'affinity'> => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app } }, topologyKey }],
    },
  },
});

/** A pod that has no node yet. */
export const pending = (name: string, cpu: number, spec: Partial<Pod['spec']> = {}): Pod =>
  pod(name, '', cpu, {
    spec,
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });

/** Objects that keep room free for so many pods of this size. */
export const bufferOf = (
  replicas: number,
  cpu: number,
  { labels: own = {}, spec = {} }: { labels?: Record<string, string>; spec?: Partial<Pod['spec']> } = {},
): Partial<ClusterObjects> => {
  const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu: String(cpu), memory: `${cpu}Gi` } } }];
  return {
    capacityBuffers: [
      {
        metadata: { name: 'spare', namespace: 'default' },
        spec: { replicas, podTemplateRef: { name: 't' }, provisioningStrategy: 'buffer.x-k8s.io/active-capacity' },
      },
    ] as never,
    podTemplates: [
      {
        metadata: { name: 't', namespace: 'default' },
        template: { metadata: { labels: own }, spec: { containers, ...spec } },
      },
    ] as never,
  };
};

export interface World {
  readonly pools?: readonly NodePool[];
  readonly nodes: readonly { nodes: Node[]; nodeClaims: NodeClaim[] }[];
  readonly pods?: readonly Pod[];
  readonly types?: readonly InstanceType[];
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly more?: Partial<ClusterObjects>;
}

export function input({
  pools = [pool('default')],
  nodes,
  pods = [],
  types = [small, large, huge],
  budgets = [],
  more,
}: World): ConsolidationInput {
  return {
    objects: {
      pods,
      nodePools: pools,
      nodes: nodes.flatMap((each) => each.nodes),
      nodeClaims: nodes.flatMap((each) => each.nodeClaims),
      podDisruptionBudgets: budgets,
      ...more,
    },
    catalogues: new Map(pools.map(({ metadata }) => [metadata.name!, types])),
    settings: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', wellKnownLabels: [], listedTypes: 60 },
    now,
  };
}

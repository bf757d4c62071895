import { type NodePool, nodePools } from '../../api/karpenter/node-pool.js';
import type { Node, NodeSelectorRequirement, Pod, PodSpec, ResourceList, Taint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { parseResources } from '../../core/quantities.js';
import type { ClusterObjects, PackingInput, PackingSettings, Plan } from '../../packing/types.js';

const zones = ['zone-a', 'zone-b', 'zone-c'];

export interface TypeOptions {
  readonly cpu: number;
  /** GiB; four times the CPUs by default. */
  readonly memory?: number;
  /** Dollars per hour on demand; a tenth of a dollar a CPU by default. */
  readonly price?: number;
  /** Share of that on spot; 0 sells none. */
  readonly spot?: number;
  readonly zones?: readonly string[];
  readonly unavailable?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly resources?: ResourceList;
  readonly offerings?: readonly Offering[];
}

const inValues = (key: string, ...values: string[]): NodeSelectorRequirement => ({ key, operator: 'In', values });

export function offering(zone: string, capacityType: string, price: number, more: Partial<Offering> = {}): Offering {
  return {
    requirements: [inValues(labels.zone, zone), inValues(labels.capacityType, capacityType)],
    price,
    available: true,
    ...more,
  };
}

export function instanceType(name: string, options: TypeOptions): InstanceType {
  const { cpu, memory = cpu * 4, price = cpu / 10, spot = 0.4, unavailable = [] } = options;
  const sold = options.zones ?? zones;
  const own = { [labels.arch]: 'amd64', [labels.os]: 'linux', ...options.labels };
  const offerings = sold.flatMap((zone) =>
    [['on-demand', price] as const, ...(spot > 0 ? [['spot', price * spot] as const] : [])].map(([kind, dollars]) =>
      offering(zone, kind, dollars, { available: !unavailable.includes(`${zone} ${kind}`) }),
    ),
  );
  return {
    name,
    requirements: [
      inValues(labels.instanceType, name),
      ...Object.entries(own).map(([key, value]) => inValues(key, value)),
      inValues(labels.zone, ...sold),
      inValues(labels.capacityType, 'on-demand', 'reserved', ...(spot > 0 ? ['spot'] : [])),
    ],
    offerings: options.offerings ?? offerings,
    capacity: parseResources({ cpu: String(cpu), memory: `${memory}Gi`, pods: '110', ...options.resources }),
    overhead: {},
  };
}

/** One family of sizes 1 to 64 CPUs, 4 GiB a CPU, priced by the CPU. */
export const sizes: readonly InstanceType[] = [1, 2, 4, 8, 16, 32, 64].map((cpu) =>
  instanceType(`m${cpu}`, { cpu, labels: { 'example.com/family': 'm', 'example.com/cpu': String(cpu) } }),
);

export interface PoolOptions {
  readonly requirements?: NodePool['spec']['template']['spec']['requirements'];
  readonly labels?: Record<string, string>;
  readonly taints?: Taint[];
  readonly startupTaints?: Taint[];
  readonly limits?: ResourceList;
  readonly weight?: number;
}

export function pool(name = 'default', options: PoolOptions = {}): NodePool {
  const { requirements = [], taints, startupTaints, limits, weight } = options;
  return nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        ...(options.labels === undefined ? {} : { metadata: { labels: options.labels } }),
        spec: {
          requirements,
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          ...(taints === undefined ? {} : { taints }),
          ...(startupTaints === undefined ? {} : { startupTaints }),
        },
      },
      ...(limits === undefined ? {} : { limits }),
      ...(weight === undefined ? {} : { weight }),
    },
  });
}

export interface PodOptions extends Partial<PodSpec> {
  readonly cpu?: string;
  readonly memory?: string;
  readonly requests?: ResourceList;
  readonly labels?: Record<string, string>;
  readonly namespace?: string;
}

export function pod(name: string, options: PodOptions = {}): Pod {
  const { cpu = '1', memory = '1Gi', requests = {}, labels: podLabels, namespace = 'default', ...spec } = options;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: name, ...(podLabels === undefined ? {} : { labels: podLabels }) },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu, memory, ...requests } } }], ...spec },
  };
}

export function podsOf(count: number, name: string, options: PodOptions = {}): Pod[] {
  return Array.from({ length: count }, (_, i) => pod(`${name}-${i}`, options));
}

export interface NodeOptions {
  readonly cpu?: string;
  readonly memory?: string;
  readonly zone?: string;
  readonly initialized?: boolean;
  readonly labels?: Record<string, string>;
  readonly taints?: Taint[];
  readonly pool?: string;
}

export function node(name: string, options: NodeOptions = {}): Node {
  const { cpu = '4', memory = '16Gi', zone = 'zone-a', initialized = true } = options;
  const resources = { cpu, memory, pods: '110' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        [labels.hostname]: name,
        [labels.zone]: zone,
        [labels.nodePool]: options.pool ?? 'default',
        [labels.arch]: 'amd64',
        [labels.os]: 'linux',
        [labels.registered]: 'true',
        ...(initialized ? { [labels.initialized]: 'true' } : {}),
        ...options.labels,
      },
    },
    spec: { providerID: `test:///${name}`, ...(options.taints === undefined ? {} : { taints: options.taints }) },
    status: { capacity: resources, allocatable: resources },
  };
}

/** An input with one pool over `sizes` unless the objects say otherwise. */
export function packingInput(
  objects: Partial<ClusterObjects>,
  more: { types?: readonly InstanceType[]; settings?: Partial<PackingSettings> } & Partial<
    Pick<PackingInput, 'catalogues' | 'withoutNodes'>
  > = {},
): PackingInput {
  const { types = sizes, settings, ...rest } = more;
  const pools = objects.nodePools ?? [pool()];
  return {
    objects: { pods: [], ...objects, nodePools: pools },
    catalogues: new Map(pools.map(({ metadata }) => [metadata.name ?? '', types])),
    settings: {
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      wellKnownLabels: ['example.com/family', 'example.com/cpu'],
      listedTypes: 60,
      ...settings,
    },
    now: 0,
    ...rest,
  };
}

/** Pods by the zone of what they were put on, in order of zones; undefined for what stayed open. */
export function zonesOf(plan: Plan, nodes: readonly Node[] = []): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const claim of plan.newNodeClaims) {
    const asked = claim.requirements.find(({ key }) => key === labels.zone)?.values ?? [];
    const zone = asked.length === 1 ? asked[0]! : 'open';
    counts[zone] = (counts[zone] ?? 0) + claim.pods.length;
  }
  for (const { node: name, pods } of plan.existingNodes) {
    const zone = nodes.find(({ metadata }) => metadata.name === name)?.metadata.labels?.[labels.zone] ?? 'none';
    counts[zone] = (counts[zone] ?? 0) + pods.length;
  }
  return Object.fromEntries(Object.entries(counts).sort());
}

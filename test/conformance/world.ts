import type { KubernetesObject, NodeSelectorRequirement, Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { offering } from '../cases/catalogues.js';
import {
  container,
  inValues,
  nodePool,
  pod as pendingPod,
  runningNode,
  type PoolOptions,
  type RunningNode,
} from '../cases/objects.js';
import type { CatalogueEntry } from '../checker/types.js';

export const zone1 = 'test-zone-1';
export const zone2 = 'test-zone-2';
export const zone3 = 'test-zone-3';
export const all = [zone1, zone2, zone3] as const;

/** Labels that types have as Karpenter's fake cloud gives them: their size, one that few have, and their CPUs. */
export const size = 'example.com/size';
export const special = 'example.com/special';
export const integer = 'example.com/integer';

type Offering = CatalogueEntry['offerings'][number];

interface TypeOptions {
  readonly cpu?: number;
  /** GiB. */
  readonly memory?: number;
  readonly pods?: number;
  readonly arch?: string;
  readonly systems?: readonly string[];
  readonly more?: Readonly<Record<string, string>>;
  readonly offerings?: readonly Offering[];
  /** What every offering costs; by CPU and memory if it is absent. */
  readonly price?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Spot in two zones, on demand in three, at one price, unless something else is said. */
export function type(name: string, options: TypeOptions = {}): CatalogueEntry {
  const { cpu = 4, memory = 4, pods = 5, arch = 'amd64', systems = ['linux', 'windows', 'darwin'], more } = options;
  const price = options.price ?? 0.1 * cpu + 0.1 * memory;
  const large = cpu > 4 && memory > 8;
  const own: Record<string, string> = {
    [size]: large ? 'large' : 'small',
    ...(large && { [special]: 'optional' }),
    [integer]: String(cpu),
    ...options.labels,
  };
  const sold = options.offerings ?? [
    offering(zone1, 'spot', price),
    offering(zone2, 'spot', price),
    ...all.map((zone) => offering(zone, 'on-demand', price)),
  ];
  const described = Object.entries(own).map(([key, value]) => inValues(key, value));
  return {
    name,
    architecture: arch,
    operatingSystems: systems,
    resources: { cpu: String(cpu), memory: `${memory}Gi`, pods: String(pods), ...more },
    offerings: sold.map((each) => ({ ...each, Requirements: [...each.Requirements, ...described] })),
  };
}

/** The few types that most of Karpenter's tests buy from. */
export const usual: readonly CatalogueEntry[] = [
  type('default', {}),
  type('small', { cpu: 2, memory: 2 }),
  type('gpu-a', { more: { 'example.com/vendor-a': '2' }, price: 2.8 }),
  type('gpu-b', { more: { 'example.com/vendor-b': '2' }, price: 2.8 }),
  type('arm', { cpu: 16, memory: 128, arch: 'arm64', systems: ['ios', 'linux', 'windows', 'darwin'] }),
  type('single-pod', { pods: 1 }),
];

/** The n-th has n CPUs, 2n GiB and room for 10n pods. */
export const growingTypes = (count: number): readonly CatalogueEntry[] =>
  Array.from({ length: count }, (_, i) => type(`t${i}`, { cpu: i + 1, memory: 2 * (i + 1), pods: 10 * (i + 1) }));

export interface PodOptions extends Omit<Partial<PodSpec>, 'containers'> {
  readonly cpu?: string;
  readonly memory?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  /** Required of the node, all of them. */
  readonly needs?: readonly NodeSelectorRequirement[];
  /** Alternatives of what is required. */
  readonly either?: readonly (readonly NodeSelectorRequirement[])[];
  /** Preferred, each with weight 1, or with its own. */
  readonly likes?: readonly (NodeSelectorRequirement & { weight?: number })[];
  readonly ports?: readonly { hostPort: number; hostIP?: string; protocol?: string }[];
  readonly metadata?: Partial<Pod['metadata']>;
}

function nodeAffinity({ needs, either, likes }: PodOptions): object {
  const terms = either ?? (needs === undefined ? undefined : [needs]);
  if (terms === undefined && likes === undefined) return {};
  return {
    nodeAffinity: {
      ...(terms && {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions: [...matchExpressions] })),
        },
      }),
      ...(likes && {
        preferredDuringSchedulingIgnoredDuringExecution: likes.map(({ weight = 1, ...requirement }) => ({
          weight,
          preference: { matchExpressions: [requirement] },
        })),
      }),
    },
  };
}

/** The same without some of its keys. */
export const omit = <T extends object, K extends PropertyKey>(from: T, ...keys: readonly K[]): Omit<T, K> =>
  Object.fromEntries(Object.entries(from).filter(([key]) => !keys.includes(key as K))) as Omit<T, K>;

/** Objects and lists of objects in one list. */
export const flat = (objects: readonly (KubernetesObject | readonly KubernetesObject[])[]): KubernetesObject[] =>
  objects.flatMap((each) => each as KubernetesObject | KubernetesObject[]);

/** The same object without a label. */
export const unlabelled = (object: KubernetesObject, key: string): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, labels: omit(object.metadata.labels ?? {}, key) },
});

/** A pod that pends, or runs where `nodeName` says; it requests nothing unless something is said. */
export function pod(name = 'p', options: PodOptions = {}): Pod {
  const { cpu, memory, requests, labels: own = {}, namespace, ports, metadata, affinity, ...rest } = options;
  const spec = omit(rest, 'needs', 'either', 'likes');
  const asked = { ...(cpu && { cpu }), ...(memory && { memory }), ...requests };
  const made = pendingPod(name, own, asked, {
    containers: [
      container(
        asked,
        ports?.map((port) => ({ containerPort: port.hostPort, ...port })),
      ),
    ],
    ...spec,
    affinity: { ...nodeAffinity(options), ...affinity },
  });
  return {
    ...made,
    metadata: { ...made.metadata, ...(namespace !== undefined && { namespace }), ...metadata },
  };
}

export const pods = (count: number, options: PodOptions = {}, name = 'p'): Pod[] =>
  Array.from({ length: count }, (_, i) => pod(`${name}-${i}`, options));

const anyCapacity = inValues(labels.capacityType, 'spot', 'on-demand', 'reserved');

/** A NodePool of every capacity type, unless something is asked for. */
export const pool = (options: PoolOptions = {}, name = 'default'): KubernetesObject =>
  nodePool(name, { requirements: [anyCapacity], ...options });

/** A NodePool that asks for these labels. */
export const poolOf = (...requirements: NonNullable<PoolOptions['requirements']>): KubernetesObject =>
  pool({ requirements });

export interface NodeOptions extends Partial<Omit<RunningNode, 'name'>> {
  readonly zone?: string;
  readonly capacityType?: string;
}

/** A node with its claim: of type `of` of the usual ones, if it does not say. */
export function node(name: string, options: NodeOptions = {}): KubernetesObject[] {
  const { zone = zone1, capacityType = 'on-demand', allocatable, labels: more, ...rest } = options;
  return runningNode({
    name,
    pool: 'default',
    labels: {
      [labels.zone]: zone,
      [labels.capacityType]: capacityType,
      [labels.instanceType]: 'default',
      [labels.arch]: 'amd64',
      [labels.os]: 'linux',
      ...more,
    },
    allocatable: { cpu: '4', memory: '4Gi', pods: '5', ...allocatable },
    ...rest,
  });
}

export const op = (
  key: string,
  operator: NodeSelectorRequirement['operator'],
  ...values: string[]
): NodeSelectorRequirement => ({ key, operator, ...(values.length > 0 && { values }) });
export const oneOf = (key: string, ...values: string[]): NodeSelectorRequirement & { operator: 'In' } =>
  inValues(key, ...values);
export const noneOf = (key: string, ...values: string[]): NodeSelectorRequirement => op(key, 'NotIn', ...values);

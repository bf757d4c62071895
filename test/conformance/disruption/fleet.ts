import type { KubernetesObject } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { offering } from '../../cases/catalogues.js';
import { nodePool, type PoolOptions } from '../../cases/objects.js';
import type { CatalogueEntry } from '../../checker/types.js';
import { node, oneOf, pod, type, zone1, type NodeOptions, type PodOptions } from '../world.js';

/** Types of one zone, on demand and for two fifths of that on spot. */
export const sold = (name: string, cpu: number, price: number, more: Parameters<typeof type>[1] = {}): CatalogueEntry =>
  type(name, {
    cpu,
    memory: 2 * cpu,
    pods: 100,
    offerings: [offering(zone1, 'on-demand', price), offering(zone1, 'spot', price * 0.4)],
    ...more,
  });
export const cheap = sold('cheap', 4, 0.4);
export const dear = sold('dear', 32, 3.2);
export const fleet: readonly CatalogueEntry[] = [cheap, sold('middle', 8, 0.8), dear];

type Disruption = NonNullable<PoolOptions['disruption']>;
/** A pool that may buy anything and lose anything at any time, unless something else is said. */
export const poolWith = (disruption: Disruption = {}, options: PoolOptions = {}, name = 'default'): KubernetesObject =>
  nodePool(name, {
    requirements: [oneOf(labels.capacityType, 'spot', 'on-demand', 'reserved')],
    ...options,
    disruption: { budgets: [{ nodes: '100%' }], ...disruption },
  });

/** The labels that a type gives its nodes besides zone and capacity type. */
const described = ({ offerings }: CatalogueEntry): Record<string, string> =>
  Object.fromEntries(
    (offerings[0]?.Requirements ?? []).flatMap(({ key, values = [] }) =>
      key === labels.zone || key === labels.capacityType ? [] : [[key, values[0] ?? ''] as const],
    ),
  );

/** A node of a type of `fleet`, on demand, with its claim. */
export const of = (name: string, entry: CatalogueEntry = cheap, options: NodeOptions = {}): KubernetesObject[] =>
  node(name, {
    ...options,
    labels: { ...described(entry), [labels.instanceType]: entry.name, ...options.labels },
    allocatable: { ...entry.resources, ...options.allocatable },
  });
export const on = (nodeName: string, name: string, options: PodOptions = {}): KubernetesObject =>
  pod(name, { cpu: '1', labels: { app: 'x' }, ...options, nodeName });

/** A pool that buys on demand alone. */
export const onDemand = (disruption: Disruption = {}, name = 'default'): KubernetesObject =>
  poolWith(disruption, { requirements: [oneOf(labels.capacityType, 'on-demand')] }, name);

/** The same objects with more of metadata on nodes, or on claims, by their kind. */
export const marked = (objects: readonly KubernetesObject[], kind: string, metadata: object): KubernetesObject[] =>
  objects.map((each) => (each.kind === kind ? { ...each, metadata: { ...each.metadata, ...metadata } } : each));
/** The same with more of the status of the claim. */
export const claimed = (objects: readonly KubernetesObject[], status: object): KubernetesObject[] =>
  objects.map((each) =>
    each.kind === 'NodeClaim'
      ? ({ ...each, status: { ...(each as { status?: object }).status, ...status } } as KubernetesObject)
      : each,
  );
export const budget = (spec: object, status: object = {}, namespace = 'default'): KubernetesObject =>
  ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b', namespace },
    spec: { selector: { matchLabels: { app: 'kept' } }, ...spec },
    status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, ...status },
  }) as KubernetesObject;

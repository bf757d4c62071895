import { messageOf } from '../../core/error-message.js';
import { Gauge, type Registry } from 'prom-client';
import type { ActivityDeps } from '../../activities/deps.js';
import { metricName } from '../metrics.js';
import { buildInfo } from './build-info.js';
import { clusterFamilies, definitionConditions, objectConditions } from './cluster.js';
import {
  type Family,
  nodeColumns,
  Scrape,
  inBaseUnits,
  type PodSums,
  type Sample,
  secondsSince,
  type Labels,
} from './scrape.js';
import type { Node, Pod } from '../../api/kubernetes.js';
import { parseResources, type Resources } from '../../core/quantities.js';
import { lookUp } from '../../core/own.js';
import { isTrue } from '../../core/conditions.js';
import { isTerminal } from '../../core/pods.js';
import { nameOf } from '../../core/names.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { allowance, type PoolCount } from '../../disruption/budgets/budgets.js';
import { countPools } from '../../disruption/budgets/pool-counts.js';
import { labels } from '../../api/labels.js';
import { pinnedValue } from '../../core/launch-options.js';
import type { InstanceType } from '../../core/instance-type.js';

/**
 * Gauges of the cluster's state with Karpenter's names (metrics/of-the-cluster), computed from the cache at each
 * scrape.
 */
export function registerGauges(registry: Registry, deps: ActivityDeps, options: { readonly objects: boolean }): void {
  const scrape = sharedScrape(deps);
  const families = [
    ...poolFamilies,
    ...clusterFamilies(buildInfo(), deps.now()),
    ...offeringFamilies,
    ...definitionConditions(deps.cloud.nodeClassKind.kind),
    ...(options.objects ? [...nodeFamilies(nodeColumns(deps)), ...podFamilies, ...objectConditions] : []),
  ];
  for (const family of families) registry.registerMetric(new CollectedGauge(family, scrape));
}

/** A registry collects all its metrics in one turn of the event loop: they share one `Scrape`. */
function sharedScrape(deps: ActivityDeps): () => Scrape {
  let current: Scrape | undefined;
  return () => {
    if (current === undefined) {
      current = new Scrape(deps);
      setImmediate(() => (current = undefined));
    }
    return current;
  };
}

/**
 * A gauge whose series are computed at each scrape. If a family cannot be read it has none; others are not affected.
 */
class CollectedGauge extends Gauge {
  constructor(
    private readonly family: Family,
    private readonly scrape: () => Scrape,
  ) {
    const { name, help, labelNames } = family;
    super({ name: metricName(name), help, labelNames, registers: [] });
  }

  override async get(): ReturnType<Gauge['get']> {
    const scrape = this.scrape();
    const described = await super.get();
    try {
      const samples = await this.family.samples(scrape);
      return { ...described, values: [...samples].map(([own, value]) => ({ labels: { ...own }, value })) };
    } catch (error) {
      scrape.deps.log.warn({ metric: this.family.name, error: messageOf(error) }, 'a metric cannot be read');
      return { ...described, values: [] };
    }
  }
}

/** Series for each node, which DISABLE_CLUSTER_STATE_OBSERVABILITY omits. */
function nodeFamilies(columns: readonly string[]): readonly Family[] {
  const labelNames = [...columns, 'resource_type'];
  const sums = (name: string, of: keyof PodSums, help: string): Family => ({
    name,
    help: `${help}, in base units (CPU in cores).`,
    labelNames,
    samples: (scrape) => {
      const all = scrape.podSums();
      return perResource(scrape, ({ metadata }) => all.get(metadata.name ?? '')?.[of] ?? []);
    },
  });
  return [
    {
      name: 'nodes_allocatable',
      help: 'Allocatable resources of each node, in base units (CPU in cores).',
      labelNames,
      samples: (scrape) => perResource(scrape, ({ status }) => Object.entries(parseResources(status?.allocatable))),
    },
    {
      name: 'nodes_system_overhead',
      help: 'What of each node’s capacity is kept from pods, in base units (CPU in cores).',
      labelNames,
      samples: (scrape) => perResource(scrape, (node) => Object.entries(overheadOf(node))),
    },
    sums('nodes_total_pod_requests', 'requests', 'What the pods of each node request, those of DaemonSets included'),
    sums('nodes_total_pod_limits', 'limits', 'The limits of the pods of each node, those of DaemonSets included'),
    sums('nodes_total_daemon_requests', 'daemonRequests', 'What the DaemonSet pods of each node request'),
    sums('nodes_total_daemon_limits', 'daemonLimits', 'The limits of the DaemonSet pods of each node'),
    {
      name: 'nodes_current_lifetime_seconds',
      help: 'Age of each node.',
      labelNames: columns,
      samples: (scrape) =>
        scrape.nodes().map(([node, own]) => [own, secondsSince(node.metadata.creationTimestamp, scrape.now)]),
    },
  ];
}

function perResource(scrape: Scrape, read: (node: Node) => Iterable<readonly [string, number]>): Sample[] {
  return scrape
    .nodes()
    .flatMap(([node, own]) =>
      [...read(node)].map(([resource, amount]): Sample => [
        { ...own, resource_type: resource },
        inBaseUnits(resource, amount),
      ]),
    );
}

function overheadOf({ status }: Node): Resources {
  const allocatable = parseResources(status?.allocatable);
  return Object.fromEntries(
    Object.entries(parseResources(status?.capacity)).map(([name, amount]) => [
      name,
      amount - (lookUp(allocatable, name) ?? 0),
    ]),
  );
}

const ofNode = ['nodepool', 'zone', 'arch', 'capacity_type', 'instance_type', 'managed'] as const;

/** Series for each pod, which DISABLE_CLUSTER_STATE_OBSERVABILITY omits. */
const podFamilies: readonly Family[] = [
  {
    name: 'pods_state',
    help: 'One for each pod, with what it is in.',
    labelNames: ['name', 'namespace', 'owner', 'node', 'scheduled', ...ofNode, 'phase', 'ready'],
    samples: podStates,
  },
  {
    name: 'pods_unbound_time_seconds',
    help: 'Time since the creation of each pod that has no node.',
    labelNames: ['name', 'namespace'],
    samples: (scrape) => ages(scrape, (pod) => (pod.spec.nodeName ?? '') === ''),
  },
  {
    name: 'pods_unstarted_time_seconds',
    help: 'Time since the creation of each pod that is Pending: its containers do not run yet.',
    labelNames: ['name', 'namespace'],
    samples: (scrape) => ages(scrape, ({ status }) => (status?.phase ?? 'Pending') === 'Pending'),
  },
];

function ages({ deps, now }: Scrape, counts: (pod: Pod) => boolean): Sample[] {
  return deps.cache
    .all('Pod')
    .filter((pod) => !isTerminal(pod) && counts(pod))
    .map(({ metadata }) => [
      { name: metadata.name ?? '', namespace: metadata.namespace ?? '' },
      secondsSince(metadata.creationTimestamp, now),
    ]);
}

function podStates(scrape: Scrape): Sample[] {
  const nodes = new Map(scrape.nodes().map(([node, own]) => [nameOf(node), pick(own)]));
  return scrape.deps.cache.all('Pod').map((pod): Sample => {
    const { name = '', namespace = '' } = pod.metadata;
    const node = pod.spec.nodeName ?? '';
    return [
      {
        ...{ name, namespace, owner: ownerOf(pod), node, scheduled: String(node !== '') },
        ...(nodes.get(node) ?? unknownNode),
        phase: pod.status?.phase ?? '',
        ready: String(isTrue(pod.status?.conditions, 'Ready')),
      },
      1,
    ];
  });
}

function ownerOf({ metadata }: Pod): string {
  const [owner] = metadata.ownerReferences ?? [];
  return owner === undefined ? '' : `${owner.kind}/${owner.name}`;
}

const unknownNode: Labels = { ...Object.fromEntries(ofNode.map((label) => [label, ''])), managed: 'false' };

function pick(node: Labels): Labels {
  return Object.fromEntries(ofNode.map((label) => [label, node[label] ?? '']));
}

const reasons = ['Empty', 'Underutilized', 'Drifted'] as const;
type Reason = (typeof reasons)[number];

const poolFamilies: readonly Family[] = [
  {
    name: 'nodepools_limit',
    help: 'Limits of each NodePool, in base units (CPU in cores).',
    labelNames: ['nodepool', 'resource_type'],
    samples: (scrape) => amounts(scrape, ({ spec }) => spec.limits),
  },
  {
    name: 'nodepools_usage',
    help: 'What the nodes of each NodePool add up to, in base units (CPU in cores).',
    labelNames: ['nodepool', 'resource_type'],
    samples: (scrape) => amounts(scrape, ({ status }) => status?.resources),
  },
  {
    name: 'nodepools_cost_total',
    help: 'What the nodes of each NodePool cost, dollars per hour; a node without a known price counts as nothing.',
    labelNames: ['nodepool'],
    samples: costs,
  },
  {
    name: 'nodepools_allowed_disruptions',
    help: 'How many nodes of each NodePool may be disrupted now for each reason.',
    labelNames: ['nodepool', 'reason'],
    samples: (scrape) =>
      perReason(
        scrape,
        ({ spec }, reason, count) => allowance(spec.disruption.budgets, reason, count, scrape.now).allowed,
      ),
  },
  {
    name: 'nodepools_nodes_consuming_budgets',
    help: 'How many nodes of each NodePool count against its budgets; every reason is charged with all of them.',
    labelNames: ['nodepool', 'reason'],
    samples: (scrape) => perReason(scrape, (_pool, _reason, { disrupting }) => disrupting),
  },
];

type PoolAmounts = Readonly<Record<string, string | number>> | undefined;

function amounts(scrape: Scrape, read: (pool: NodePool) => PoolAmounts): Sample[] {
  return scrape
    .pools()
    .flatMap((pool) =>
      Object.entries(parseResources(read(pool))).map(([resource, amount]): Sample => [
        { nodepool: nameOf(pool), resource_type: resource },
        inBaseUnits(resource, amount),
      ]),
    );
}

async function costs(scrape: Scrape): Promise<Sample[]> {
  const byPool = new Map(scrape.pools().map(({ metadata }) => [metadata.name ?? '', 0]));
  for (const { pool, pricePerHour } of await scrape.views()) {
    const name = pool?.metadata.name;
    if (name !== undefined) byPool.set(name, (byPool.get(name) ?? 0) + pricePerHour);
  }
  return [...byPool].map(([nodepool, cost]) => [{ nodepool }, cost]);
}

async function perReason(
  scrape: Scrape,
  value: (pool: NodePool, reason: Reason, count: PoolCount) => number,
): Promise<Sample[]> {
  const counts = countPools(await scrape.views(), new Set());
  return scrape.pools().flatMap((pool) => {
    const nodepool = nameOf(pool);
    const count = counts.get(nodepool) ?? { total: 0, disrupting: 0 };
    return reasons.map((reason): Sample => [{ nodepool, reason }, value(pool, reason, count)]);
  });
}

interface Seen {
  available: boolean;
  price: number | undefined;
}

const offeringLabels = ['instance_type', 'capacity_type', 'zone'];

/** The offerings of all NodePools. */
const offeringFamilies: readonly Family[] = [
  {
    name: 'cloudprovider_instance_type_cpu_cores',
    help: 'CPU cores of each instance type.',
    labelNames: ['instance_type'],
    samples: (scrape) => perType(scrape, ({ capacity }) => (capacity['cpu'] ?? 0) / 1000),
  },
  {
    name: 'cloudprovider_instance_type_memory_bytes',
    help: 'Memory of each instance type.',
    labelNames: ['instance_type'],
    samples: (scrape) => perType(scrape, ({ capacity }) => capacity['memory'] ?? 0),
  },
  {
    name: 'cloudprovider_instance_type_offering_available',
    help: 'Whether an instance type can be launched in a zone under a capacity type (1) or not (0).',
    labelNames: offeringLabels,
    samples: (scrape) => perOffering(scrape, ({ available }) => (available ? 1 : 0)),
  },
  {
    name: 'cloudprovider_instance_type_offering_price_estimate',
    help: 'Price of an instance type in a zone under a capacity type, dollars per hour.',
    labelNames: offeringLabels,
    samples: (scrape) => perOffering(scrape, ({ price }) => price),
  },
];

async function typesOf(scrape: Scrape): Promise<readonly InstanceType[]> {
  return [...(await scrape.catalogues()).values()].flat();
}

async function perType(scrape: Scrape, read: (type: InstanceType) => number): Promise<Sample[]> {
  const byName = new Map((await typesOf(scrape)).map((type) => [type.name, read(type)]));
  return [...byName].map(([instance_type, value]) => [{ instance_type }, value]);
}

/**
 * Several reservations of one type and zone, and several pools, are combined into one series: the lowest price,
 * available if one is (metrics/offerings).
 */
async function perOffering(scrape: Scrape, read: (seen: Seen) => number | undefined): Promise<Sample[]> {
  const seen = new Map<string, Seen & { readonly own: Sample[0] }>();
  for (const { name, offerings } of await typesOf(scrape)) {
    for (const { requirements, available, price, unpriced } of offerings) {
      const own = {
        instance_type: name,
        capacity_type: pinnedValue(requirements, labels.capacityType) ?? '',
        zone: pinnedValue(requirements, labels.zone) ?? '',
      };
      const key = Object.values(own).join('/');
      const entry = seen.get(key) ?? { own, available: false, price: undefined };
      entry.available ||= available;
      if (unpriced !== true) entry.price = Math.min(entry.price ?? price, price);
      seen.set(key, entry);
    }
  }
  return [...seen.values()].flatMap((entry): Sample[] => {
    const value = read(entry);
    return value === undefined ? [] : [[entry.own, value]];
  });
}

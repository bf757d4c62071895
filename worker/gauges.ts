import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Node, Pod } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import { managedClaims, managedPools, nodeViews } from '../activities/cluster.js';
import type { ActivityDeps } from '../activities/deps.js';
import { labelsOf } from '../activities/labels-of.js';
import { isTrue } from '../core/conditions.js';
import { parseResources } from '../core/resources.js';
import type { Resources } from '../core/resources.js';
import { allowance } from '../disruption/budgets.js';
import { countPools } from '../disruption/emptiness.js';
import { isOwnedBy, isTerminal } from '../disruption/pods.js';
import { podRequests, QuantityReader } from '../packing/compile/pod-requests.js';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** One metric of the cluster's state, read anew at each scrape. */
interface Family {
  /** Without the `karpenter_` prefix. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (deps: ActivityDeps) => Iterable<Sample> | Promise<Iterable<Sample>>;
}

const nodeLabels = [
  'node_name',
  'nodepool',
  'instance_type',
  'zone',
  'arch',
  'os',
  'capacity_type',
  'phase',
  'managed',
] as const;
const podLabels = [
  'name',
  'namespace',
  'owner',
  'node',
  'scheduled',
  'nodepool',
  'zone',
  'arch',
  'capacity_type',
  'instance_type',
  'phase',
  'ready',
  'managed',
] as const;
const perResource = [...nodeLabels, 'resource_type'];

const poolFamilies: readonly Family[] = [
  {
    name: 'nodepools_limit',
    help: 'Limits of each NodePool, in base units (CPU in cores).',
    labelNames: ['nodepool', 'resource_type'],
    samples: (deps) => poolResources(deps, ({ spec }) => spec.limits),
  },
  {
    name: 'nodepools_usage',
    help: 'What the nodes of each NodePool add up to, in base units (CPU in cores).',
    labelNames: ['nodepool', 'resource_type'],
    samples: (deps) => poolResources(deps, ({ status }) => status?.resources),
  },
  {
    name: 'nodepools_allowed_disruptions',
    help: 'How many nodes of each NodePool may be disrupted now for each reason.',
    labelNames: ['nodepool', 'reason'],
    samples: allowedDisruptions,
  },
  {
    name: 'cluster_state_node_count',
    help: 'Nodes in the cluster cache.',
    labelNames: [],
    samples: ({ cache }) => [[{}, cache.all('Node').length]],
  },
  {
    name: 'cluster_state_synced',
    help: 'Whether the cluster cache has everything that decisions read (1) or not (0).',
    labelNames: [],
    samples: ({ cache }) => [[{}, cache.synced ? 1 : 0]],
  },
];

/** Series for each node and pod: what DISABLE_CLUSTER_STATE_OBSERVABILITY leaves out. */
const objectFamilies: readonly Family[] = [
  {
    name: 'nodes_allocatable',
    help: 'Allocatable resources of each node, in base units (CPU in cores).',
    labelNames: perResource,
    samples: (deps) => nodeResources(deps, ({ status }) => parseResources(status?.allocatable)),
  },
  {
    name: 'nodes_system_overhead',
    help: 'What of each node’s capacity is kept from pods, in base units (CPU in cores).',
    labelNames: perResource,
    samples: (deps) => nodeResources(deps, overheadOf),
  },
  {
    name: 'nodes_total_pod_requests',
    help: 'What the pods of each node request, in base units (CPU in cores); DaemonSet pods are not counted.',
    labelNames: perResource,
    samples: (deps) => nodeResources(deps, (node) => requestsOn(deps, node, (pod) => !isOwnedBy(pod, 'DaemonSet'))),
  },
  {
    name: 'nodes_total_daemon_requests',
    help: 'What the DaemonSet pods of each node request, in base units (CPU in cores).',
    labelNames: perResource,
    samples: (deps) => nodeResources(deps, (node) => requestsOn(deps, node, (pod) => isOwnedBy(pod, 'DaemonSet'))),
  },
  {
    name: 'nodes_current_lifetime_seconds',
    help: 'Age of each node.',
    labelNames: nodeLabels,
    samples: (deps) =>
      nodesOf(deps).map(([node, own]) => [
        own,
        Math.max(0, (deps.now() - Date.parse(node.metadata.creationTimestamp ?? '')) / 1000) || 0,
      ]),
  },
  { name: 'pods_state', help: 'One for each pod, with what it is in.', labelNames: podLabels, samples: podStates },
];

/** Gauges of the cluster's state under Karpenter's names (section 1.8), read from the cache at each scrape. */
export function registerGauges(registry: Registry, deps: ActivityDeps, options: { readonly objects: boolean }): void {
  for (const { name, help, labelNames, samples } of options.objects
    ? [...poolFamilies, ...objectFamilies]
    : poolFamilies) {
    new Gauge({
      name: `karpenter_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const found = await samples(deps);
        this.reset();
        for (const [own, value] of found) this.set(own, value);
      },
    });
  }
}

/** CPU in cores, as Prometheus has it; everything else in its base unit. */
function inBaseUnits(resource: string, amount: number): number {
  return resource === 'cpu' ? amount / 1000 : amount;
}

type PoolAmounts = Readonly<Record<string, string | number>> | undefined;

function poolResources(
  deps: ActivityDeps,
  read: (pool: ReturnType<typeof managedPools>[number]) => PoolAmounts,
): Sample[] {
  return managedPools(deps).flatMap((pool) =>
    Object.entries(parseResources(read(pool))).map(([resource, amount]): Sample => [
      { nodepool: pool.metadata.name ?? '', resource_type: resource },
      inBaseUnits(resource, amount),
    ]),
  );
}

async function allowedDisruptions(deps: ActivityDeps): Promise<Sample[]> {
  const counts = countPools(await nodeViews(deps), new Set());
  return managedPools(deps).flatMap(({ metadata, spec }) =>
    (['Empty', 'Underutilized', 'Drifted'] as const).map((reason): Sample => {
      const nodepool = metadata.name ?? '';
      const count = counts.get(nodepool) ?? { total: 0, disrupting: 0 };
      return [{ nodepool, reason }, allowance(spec.disruption.budgets, reason, count, deps.now()).allowed];
    }),
  );
}

function nodesOf(deps: ActivityDeps): (readonly [Node, Labels])[] {
  const claims = new Map(managedClaims(deps).map((claim) => [claim.status?.providerID ?? '', claim]));
  return deps.cache.all('Node').map((node) => {
    const { nodePool, instanceType, zone, capacityType } = labelsOf(node);
    const own = node.metadata.labels ?? {};
    return [
      node,
      {
        node_name: node.metadata.name ?? '',
        nodepool: nodePool,
        instance_type: instanceType,
        zone,
        arch: own[labels.arch] ?? '',
        os: own[labels.os] ?? '',
        capacity_type: capacityType,
        phase: node.metadata.deletionTimestamp === undefined ? '' : 'Terminating',
        managed: String(claims.has(node.spec?.providerID ?? 'none')),
      },
    ];
  });
}

function nodeResources(deps: ActivityDeps, read: (node: Node) => Resources): Sample[] {
  return nodesOf(deps).flatMap(([node, own]) =>
    Object.entries(read(node)).map(([resource, amount]): Sample => [
      { ...own, resource_type: resource },
      inBaseUnits(resource, amount),
    ]),
  );
}

function overheadOf({ status }: Node): Resources {
  const allocatable = parseResources(status?.allocatable);
  return Object.fromEntries(
    Object.entries(parseResources(status?.capacity)).map(([name, amount]) => [name, amount - (allocatable[name] ?? 0)]),
  );
}

function requestsOn({ cache }: ActivityDeps, node: Node, counts: (pod: Pod) => boolean): Resources {
  const sums: Record<string, number> = {};
  const reader = new QuantityReader();
  for (const pod of cache.podsOnNode(node.metadata.name ?? '')) {
    if (isTerminal(pod) || !counts(pod)) continue;
    for (const [name, amount] of podRequests(pod.spec, reader)) sums[name] = (sums[name] ?? 0) + amount;
  }
  return sums;
}

function podStates(deps: ActivityDeps): Sample[] {
  const nodes = new Map(nodesOf(deps).map(([node, own]) => [node.metadata.name ?? '', own]));
  return deps.cache.all('Pod').map((pod): Sample => {
    const { name = '', namespace = '' } = pod.metadata;
    const node = pod.spec.nodeName ?? '';
    return [
      {
        ...{ name, namespace, owner: ownerOf(pod), node, scheduled: String(node !== '') },
        ...(nodes.get(node) === undefined ? unknownNode : pick(nodes.get(node)!)),
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

const placeLabels = ['nodepool', 'zone', 'arch', 'capacity_type', 'instance_type', 'managed'] as const;
const unknownNode: Labels = { ...Object.fromEntries(placeLabels.map((label) => [label, ''])), managed: 'false' };

function pick(node: Labels): Labels {
  return Object.fromEntries(placeLabels.map((label) => [label, node[label] ?? '']));
}

import type { Node } from '../../api/kubernetes.js';
import { parseResources, type Resources } from '../../core/quantities.js';
import { type Family, inBaseUnits, type PodSums, type Sample, type Scrape, secondsSince } from './scrape.js';
import { lookUp } from '../../core/own.js';

/** Series for each node, which DISABLE_CLUSTER_STATE_OBSERVABILITY omits. */
export function nodeFamilies(columns: readonly string[]): readonly Family[] {
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

import { isTrue } from '../../core/conditions.js';
import { parseResources } from '../../core/quantities.js';
import { whyNotCandidate, type NodeView } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { isProvisionable } from '../../core/pods.js';
import type { BuildInfo } from './build-info.js';
import type { Family, Sample } from './family.js';
import type { Scrape } from './scrape.js';

/** Checking all pods and budgets is expensive: eligible nodes are counted at most this often. */
const eligibleMs = 30_000;

/** Metrics of the whole cluster. `since`: start of the process, milliseconds since the epoch. */
export function clusterFamilies(build: BuildInfo, since: number): readonly Family[] {
  return [
    {
      name: 'cluster_state_node_count',
      help: 'Nodes in the cluster cache.',
      labelNames: [],
      samples: ({ deps }) => [[{}, deps.cache.all('Node').length]],
    },
    {
      name: 'cluster_state_synced',
      help: 'Whether the cluster cache has everything that decisions read (1) or not (0).',
      labelNames: [],
      samples: ({ deps }) => [[{}, deps.cache.synced ? 1 : 0]],
    },
    {
      name: 'cluster_state_unsynced_time_seconds',
      help: 'For how long the cluster cache has not been synced; 0 once it is.',
      labelNames: [],
      samples: unsyncedTime(since),
    },
    {
      name: 'cluster_utilization_percent',
      help: 'What pods request of all that nodes have to allocate, in percent.',
      labelNames: ['resource_type'],
      samples: utilization,
    },
    {
      name: 'build_info',
      help: 'Always 1. Stowage is a Node.js program: goversion has its Node.js version and goarch its architecture by Go’s name.',
      labelNames: ['version', 'goversion', 'goarch', 'commit'],
      samples: () => [[{ ...build }, 1]],
    },
    {
      name: 'scheduler_queue_depth',
      help: 'Pods that wait for a node. They are planned for in one go, so that scheduling_id stays empty.',
      labelNames: ['controller', 'scheduling_id'],
      samples: ({ deps }) => [
        [{ controller: 'provisioner', scheduling_id: '' }, deps.cache.all('Pod').filter(isProvisionable).length],
      ],
    },
    {
      name: 'voluntary_disruption_eligible_nodes',
      help: 'Nodes that could be disrupted for each reason, budgets aside; counted at most every 30 seconds.',
      labelNames: ['reason'],
      samples: eligible(),
    },
    {
      name: 'ec2nodeclasses_userdata_bytes',
      help: 'Size of the largest user data rendered for each node class lately, before encoding.',
      labelNames: ['nodeclass'],
      samples: ({ deps }) => [...(deps.cloud.userDataBytes ?? [])].map(([nodeclass, bytes]) => [{ nodeclass }, bytes]),
    },
    {
      name: 'stowage_cloud_on_demand_prices_timestamp_seconds',
      help: 'When the cloud had the on-demand prices that are used, and where they come from.',
      labelNames: ['source'],
      samples: ({ deps: { cloud } }) =>
        cloud.priceList === undefined ? [] : [[{ source: cloud.priceList.source }, cloud.priceList.at / 1000]],
    },
  ];
}

function unsyncedTime(started: number): Family['samples'] {
  let since: number | undefined = started;
  return ({ deps, now }) => {
    since = deps.cache.synced ? undefined : (since ?? now);
    return [[{}, since === undefined ? 0 : Math.max(0, now - since) / 1000]];
  };
}

function utilization(scrape: Scrape): Sample[] {
  const allocatable = new Map<string, number>();
  const requested = new Map<string, number>();
  const sums = scrape.podSums();
  for (const { metadata, status } of scrape.deps.cache.all('Node')) {
    for (const [name, amount] of Object.entries(parseResources(status?.allocatable))) add(allocatable, name, amount);
    for (const [name, amount] of sums.get(metadata.name ?? '')?.requests ?? []) add(requested, name, amount);
  }
  return [...allocatable]
    .filter(([, amount]) => amount > 0)
    .map(([resource, amount]) => [{ resource_type: resource }, (100 * (requested.get(resource) ?? 0)) / amount]);
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}

function eligible(): Family['samples'] {
  let counted: { readonly at: number; readonly samples: readonly Sample[] } | undefined;
  return async (scrape) => {
    if (counted === undefined || scrape.now - counted.at >= eligibleMs) {
      counted = { at: scrape.now, samples: countEligible(scrape, await scrape.views()) };
    }
    return counted.samples;
  };
}

/**
 * Rule `candidates/disruptable-nodes`, without what only running workflows know: nodes with nominated pods count as
 * eligible.
 */
function countEligible({ deps, now }: Scrape, views: readonly NodeView[]): Sample[] {
  const claimed = views.filter(({ claim }) => isTrue(claim.status?.conditions, 'DisruptionReason'));
  const context = {
    now,
    claimed: new Set(claimed.map(({ claim }) => claim.metadata.uid ?? '')),
    nominated: new Set<string>(),
    podDisruptionBudgets: deps.cache.all('PodDisruptionBudget'),
  };
  const drifted = views.filter(
    (view) =>
      isTrue(view.claim.status?.conditions, 'Drifted') && whyNotCandidate(view, context, 'eventual') === undefined,
  );
  const ripe = views.filter((view) => consolidatableAt(view) <= now && whyNotCandidate(view, context) === undefined);
  const underutilized = ripe.filter(({ pool }) => pool?.spec.disruption.consolidationPolicy !== 'WhenEmpty');
  return [
    [{ reason: 'drifted' }, drifted.length],
    [{ reason: 'empty' }, ripe.filter(isEmpty).length],
    [{ reason: 'underutilized' }, underutilized.length],
  ];
}

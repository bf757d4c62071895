import { isTrue } from '../../core/conditions.js';
import { parseResources } from '../../core/quantities.js';
import { type NodeView, whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { isProvisionable } from '../../core/pods.js';
import type { BuildInfo } from './build-info.js';
import { type Family, type Labels, type Sample, type Scrape, secondsSince } from './scrape.js';
import type { Condition, KubernetesObject } from '../../api/kubernetes.js';
import { blockedBy, blockedContext } from '../../cluster/blocked-nodes.js';
import { managedClaims } from '../../cluster/cluster.js';
import { labelsOf } from '../../cluster/node-labels.js';
import type { Kind } from '../../kube/port.js';
import { isDeleting } from '../../core/names.js';

interface Conditioned extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const conditionLabels = ['namespace', 'name', 'type', 'status', 'reason'];

/** Metrics for the conditions of one kind, as in Karpenter's generic status controllers. */
function familiesOf(kind: string, objects: (scrape: Scrape) => readonly Conditioned[]): readonly Family[] {
  const prefix = `operator_${kind.toLowerCase()}`;
  return [
    {
      name: `${prefix}_status_condition_count`,
      help: `One for each condition that a ${kind} has, with its status.`,
      labelNames: conditionLabels,
      samples: (scrape) => perCondition(objects(scrape), () => 1),
    },
    {
      name: `${prefix}_status_condition_current_status_seconds`,
      help: `For how long each condition of a ${kind} has had its status.`,
      labelNames: conditionLabels,
      samples: (scrape) =>
        perCondition(objects(scrape), ({ lastTransitionTime }) => secondsSince(lastTransitionTime, scrape.now)),
    },
    {
      name: `${prefix}_termination_current_time_seconds`,
      help: `For how long each ${kind} that is being deleted has been so.`,
      labelNames: ['namespace', 'name'],
      samples: (scrape) =>
        objects(scrape)
          .filter(isDeleting)
          .map(({ metadata }) => [identity(metadata), secondsSince(metadata.deletionTimestamp, scrape.now)]),
    },
  ];
}

/** NodePools and node classes; the latter with the name of the provider's kind, such as `ec2nodeclass`. */
export function definitionConditions(nodeClassKind: string): readonly Family[] {
  return [
    ...familiesOf('NodePool', (scrape) => scrape.pools()),
    ...familiesOf(nodeClassKind, ({ deps }) => deps.cache.all(nodeClassKind as Kind) as readonly Conditioned[]),
  ];
}

/** Series for each node and claim, which DISABLE_CLUSTER_STATE_OBSERVABILITY omits. */
export const objectConditions: readonly Family[] = [
  ...familiesOf('NodeClaim', ({ deps }) => managedClaims(deps)),
  ...familiesOf('Node', ({ deps }) => deps.cache.all('Node')),
];

function perCondition(objects: readonly Conditioned[], read: (condition: Condition) => number): Sample[] {
  return objects.flatMap(({ metadata, status }) =>
    (status?.conditions ?? []).map((condition): Sample => {
      const { type, status: state, reason = '' } = condition;
      return [{ ...identity(metadata), type, status: state, reason }, read(condition)];
    }),
  );
}

function identity({ namespace = '', name = '' }: KubernetesObject['metadata']): { namespace: string; name: string } {
  return { namespace, name };
}

/** Checking all pods and budgets is expensive: nodes are judged at most this often. */
const judgedMs = 30_000;

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
      samples: seldom(countEligible),
    },
    {
      name: 'stowage_disruption_blocked_nodes',
      help: 'Nodes that are not disrupted for each reason, by what keeps them first; without what a search finds, such as prices; counted at most every 30 seconds.',
      labelNames: ['nodepool', 'reason', 'blocker'],
      samples: seldom(blockedNodes),
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

function seldom(count: (scrape: Scrape, views: readonly NodeView[]) => readonly Sample[]): Family['samples'] {
  let counted: { readonly at: number; readonly samples: readonly Sample[] } | undefined;
  return async (scrape) => {
    if (counted === undefined || scrape.now - counted.at >= judgedMs) {
      counted = { at: scrape.now, samples: count(scrape, await scrape.views()) };
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

/** By NodePool, reason and first blocker; what is being disrupted is not blocked. */
function blockedNodes({ deps }: Scrape, views: readonly NodeView[]): Sample[] {
  const context = blockedContext(deps, views);
  const counts = new Map<string, readonly [Labels, number]>();
  for (const view of views) {
    const isDrifted = isTrue(view.claim.status?.conditions, 'Drifted');
    for (const reason of [
      ...(isDrifted ? ['Drifted' as const] : []),
      isEmpty(view) ? 'Empty' : 'Underutilized',
    ] as const) {
      const found = blockedBy(view, reason, context);
      if (found === undefined || found.blocker === 'disrupting') continue;
      const own = { nodepool: labelsOf(view.claim).nodePool, reason: reason.toLowerCase(), blocker: found.blocker };
      const key = Object.values(own).join(' ');
      counts.set(key, [own, (counts.get(key)?.[1] ?? 0) + 1]);
    }
  }
  return [...counts.values()];
}

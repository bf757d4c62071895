import { lookUp } from '../core/own.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Condition, Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { lostPoolRemedy, lostPools } from '../cluster/cluster.js';
import { waitOf } from '../cluster/disruption-wait.js';
import { isPauseOver, pauseOf } from '../cluster/pauses.js';
import { recordsOf } from '../cluster/pool-records.js';
import { labelsOf } from '../cluster/node-labels.js';
import { plannedPods } from '../cluster/planned-pods.js';
import { compareText } from '../core/text.js';
import { awaitingReconciliation, brokenConditions, conditionOf, isTrue } from '../core/conditions.js';
import { nominatedText, reasonOfFailure } from '../core/events.js';
import { isPending } from '../core/pods.js';
import { timeText } from '../core/time.js';
import type { KubernetesEvent } from '../kube/port.js';
import type { StatusKube } from './status-reading.js';
import type { ClaimRow, DriftRow, PoolRow, ProblemRow, StatusReport, UnplacedRow } from './status-rows.js';
import { nameOf, fullName, isDeleting } from '../core/names.js';

type Rows = Pick<
  StatusReport,
  'pools' | 'claims' | 'declined' | 'problems' | 'unplaced' | 'drift' | 'pauses' | 'refused'
>;

/** Data from Kubernetes for `stowage status`. Kinds without permission are reported as unread. */
export async function clusterRows(kube: StatusKube, pods: readonly Pod[], now: number): Promise<Rows> {
  const [pools, claims, pauses, problems, events] = await Promise.all([
    kube.list('NodePool'),
    kube.list('NodeClaim'),
    kube.list('DisruptionPause'),
    problemRows(kube),
    podEvents(kube, pods),
  ]);
  return {
    pools: [...pools.map((pool) => poolRow(pool, claims)), ...lostPoolRows(pools, claims)],
    claims: claims.map((claim) => claimRow(claim, now)).sort((a, b) => compareText(a.nodeClaim, b.nodeClaim)),
    declined: [...claims.flatMap(declinedOf), ...pools.flatMap(stoppedRollout)],
    problems,
    unplaced: unplacedRows(pods, claims, events),
    drift: driftRows(claims),
    pauses: pauses.filter((pause) => !isPauseOver(pause, now)).map(pauseOf),
    refused: refusedRows(pools, now),
  };
}

/** status.nodes excludes deleting nodes, as in Karpenter; the price includes them. */
export function poolRow({ metadata, spec, status }: NodePool, claims: readonly NodeClaim[]): PoolRow {
  const ready = conditionOf(status?.conditions, 'Ready');
  const draining = claims.filter(
    (claim) =>
      isDeleting(claim) && (claim.status?.providerID ?? '') !== '' && labelsOf(claim).nodePool === metadata.name,
  ).length;
  const [broken] = brokenConditions(status?.conditions);
  return {
    nodePool: metadata.name ?? '',
    ready: ready?.status ?? 'Unknown',
    message: broken?.message ?? ready?.message ?? '',
    nodes: (status?.nodes ?? 0) + draining,
    ...(draining === 0 ? {} : { draining }),
    limits: Object.entries(spec.limits ?? {}).map(([resource, limit]) => {
      const used = lookUp(status?.resources, resource) ?? (resource === 'nodes' ? (status?.nodes ?? 0) : 0);
      return `${resource} ${used} of ${limit}`;
    }),
  };
}

export const lostPoolRows = (pools: readonly NodePool[], claims: readonly NodeClaim[]): PoolRow[] =>
  [...lostPools(pools, claims)].map(([nodePool, nodes]) => ({
    nodePool,
    ready: 'gone',
    message: `nothing consolidates or replaces its nodes: ${lostPoolRemedy(nodePool)}`,
    nodes,
    limits: [],
  }));

function claimRow(claim: NodeClaim, now: number): ClaimRow {
  const { conditions, nodeName } = claim.status ?? {};
  const waiting = conditions?.find(({ type, status }) => type !== 'Ready' && status !== 'True');
  return {
    nodeClaim: nameOf(claim),
    ...labelsOf(claim),
    node: nodeName ?? '',
    state: isDeleting(claim) ? 'terminating' : launchStateOf(conditions),
    ageMs: now - Date.parse(claim.metadata.creationTimestamp ?? ''),
    message: waiting?.reason === awaitingReconciliation ? '' : (waiting?.message ?? waitText(claim)),
  };
}

/** What the disruption of the NodeClaim waits for. */
function waitText(claim: NodeClaim): string {
  const wait = waitOf(claim);
  return wait === undefined ? '' : `${wait.reason} waits since ${timeText(wait.since)}: ${wait.why}`;
}

/** How far the launch of a NodeClaim is. */
export function launchStateOf(
  conditions: readonly Condition[] | undefined,
): 'launching' | 'registering' | 'initializing' | 'ready' {
  if (!isTrue(conditions, 'Launched')) return 'launching';
  if (!isTrue(conditions, 'Registered')) return 'registering';
  return isTrue(conditions, 'Initialized') ? 'ready' : 'initializing';
}

/** A refusal with nodes of several NodePools is recorded on each of them. */
function refusedRows(pools: readonly NodePool[], now: number): StatusReport['refused'] {
  const all = pools.flatMap((pool) => recordsOf(pool).records.refused.filter(({ until }) => until > now));
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

function declinedOf({ metadata, status }: NodeClaim): ProblemRow[] {
  const object = `node ${status?.nodeName ?? metadata.name ?? ''}`;
  const [expiration, repair] = [annotations.expirationDeclined, annotations.repairDeclined].map(
    (each) => metadata.annotations?.[each],
  );
  return [
    ...(expiration === undefined ? [] : [{ object, message: `does not expire: ${expiration}` }]),
    ...(repair === undefined ? [] : [{ object, message: `is not repaired: ${repair}` }]),
  ];
}

function stoppedRollout({ metadata }: NodePool): ProblemRow[] {
  if (metadata.annotations?.[annotations.driftStopped] === undefined) return [];
  return [{ object: `nodepool ${metadata.name ?? ''}`, message: 'its rollout was stopped' }];
}

/** Policies and node classes whose conditions report a problem. */
async function problemRows(kube: StatusKube): Promise<ProblemRow[]> {
  const kinds = ['DisruptionPolicy', 'EC2NodeClass', 'KWOKNodeClass'] as const;
  const lists = await Promise.all(kinds.map(async (kind) => kube.list(kind)));
  return lists.flatMap((objects, i) =>
    objects.flatMap(({ metadata, status }) => {
      const { conditions } = status ?? {};
      const own = brokenConditions(conditions)[0] ?? conditionOf(conditions, 'Ready');
      if (own?.status !== 'False') return [];
      const { message = '', reason = '' } = own;
      return [{ object: `${kinds[i]} ${metadata.name ?? ''}`, message: message === '' ? reason : message }];
    }),
  );
}

const mostPods = 5;

/**
 * Stowage's events on pods: those of kube-scheduler list existing nodes, those of Stowage say why no node is launched.
 */
async function podEvents(kube: StatusKube, pods: readonly Pod[]): Promise<readonly KubernetesEvent[]> {
  if (!pods.some(isPending)) return [];
  return kube.list('Event', { fieldSelector: 'source=karpenter,involvedObject.kind=Pod' });
}

interface PodMessage {
  readonly at: string;
  readonly message: string;
}

const podKeyOfEvent = ({ involvedObject: { namespace = '', name = '' } }: KubernetesEvent): string =>
  `${namespace}/${name}`;

/** Pods that could not be scheduled and still have no node planned. */
export function unplacedRows(
  pods: readonly Pod[],
  claims: readonly NodeClaim[],
  events: readonly KubernetesEvent[],
): UnplacedRow[] {
  const pending = new Set(pods.filter(isPending).map(fullName));
  const coming = new Set(
    claims
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => nominatedText('nodeclaim', metadata.name ?? '')),
  );
  const latest = new Map<string, PodMessage>();
  for (const event of events) {
    const key = podKeyOfEvent(event);
    const reported = { at: event.lastTimestamp ?? '', message: event.message ?? '' };
    const isPlaced = coming.has(reported.message);
    if (!pending.has(key) || (event.reason !== 'FailedScheduling' && !isPlaced)) continue;
    const known = latest.get(key);
    // Of several events in the same second, one about a planned node is used.
    if (known === undefined || known.at < reported.at || (known.at === reported.at && isPlaced))
      latest.set(key, reported);
  }
  const planned = plannedSince(claims);
  const byWhy = new Map<string, string[]>();
  for (const [pod, { at, message }] of latest) {
    if (coming.has(message) || planned(pod, at)) continue;
    const why = reasonOfFailure(message);
    byWhy.set(why, [...(byWhy.get(why) ?? []), pod]);
  }
  return [...byWhy].map(([why, names]) => ({ why, pods: names.sort() })).sort((a, b) => b.pods.length - a.pods.length);
}

/** Whether a NodeClaim was created for the pod since then, because with many pods not every pod gets an event. */
function plannedSince(claims: readonly NodeClaim[]): (pod: string, at: string) => boolean {
  const planned = new Map<string, string>();
  for (const claim of claims) {
    const { deletionTimestamp, creationTimestamp = '' } = claim.metadata;
    if (deletionTimestamp !== undefined) continue;
    for (const pod of plannedPods(claim)) {
      if (creationTimestamp > (planned.get(pod) ?? '')) planned.set(pod, creationTimestamp);
    }
  }
  return (pod, at) => (planned.get(pod) ?? '') >= at;
}

/** The names of the first few pods, and how many more there are. */
export function statusPodsText(pods: readonly string[]): string {
  const more = pods.length > mostPods ? ` and ${pods.length - mostPods} more` : '';
  return `${pods.slice(0, mostPods).join(', ')}${more}`;
}

function driftRows(claims: readonly NodeClaim[]): DriftRow[] {
  const byPool = new Map<string, { drifted: number; disrupting: number; nodes: number }>();
  for (const claim of claims) {
    const { nodePool } = labelsOf(claim);
    const row = byPool.get(nodePool) ?? { drifted: 0, disrupting: 0, nodes: 0 };
    byPool.set(nodePool, row);
    row.nodes += 1;
    if (!isTrue(claim.status?.conditions, 'Drifted')) continue;
    row.drifted += 1;
    if (isDeleting(claim)) row.disrupting += 1;
  }
  return [...byPool]
    .filter(([, { drifted }]) => drifted > 0)
    .map(([nodePool, row]) => ({ nodePool, ...row }))
    .sort((a, b) => compareText(a.nodePool, b.nodePool));
}

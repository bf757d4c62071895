import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Condition, Pod } from '../api/kubernetes.js';
import { isManaged, nodeOf, poolOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim } from '../cluster/writes.js';
import type { ClaimChange } from '../cluster/writes.js';
import { conditionOf, isTrue, timestamp, transitionOf, withCondition, withoutCondition } from '../core/conditions.js';
import type { NodeView } from '../disruption/candidates/candidates.js';
import { consolidatableAt, idleSince } from '../disruption/consolidation/consolidatable.js';
import { isOwnedBy, isTerminal } from '../core/pods.js';
import type { OperatorContext } from './context.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';
import { nameOf, isDeleting } from '../core/names.js';

const podEventDedupeMs = 10_000;
/** A pod event further in the future than this comes from a wrong clock. */
const clockSkewMs = 60_000;
/** Longer timers overflow; the claim is checked earlier anyway. */
const longestWaitMs = 3_600_000;

/**
 * Writes lastPodEventTime and Consolidatable (consolidation/last-pod-event, consolidation/consolidate-after). Signals
 * `disrupt` whenever a node becomes consolidatable after a pod event: the condition alone does not show this, since
 * with a short consolidateAfter it stays unchanged.
 */
export function watchClaimConditions(context: OperatorContext, signalDisrupt: () => void): () => void {
  const { cache, log } = context;
  const reporting = (reconcile: (name: string) => Promise<Requeue | undefined>) =>
    reportingRefusals(context, 'NodeClaim', reconcile);
  const pods = new WorkQueue(
    'writing lastPodEventTime',
    reporting((name) => podEvent(context, name)),
    log,
  );
  /** By NodeClaim: the state of the last signal to `disrupt`. */
  const signalled = new Map<string, string>();
  const became = (claim: NodeClaim): void => {
    const { name = '' } = claim.metadata;
    if (signalled.get(name) === idleText(claim)) return;
    signalled.set(name, idleText(claim));
    signalDisrupt();
  };
  const idle = new WorkQueue(
    'writing Consolidatable',
    reporting((name) => consolidatable(context, name, became)),
    log,
  );
  const all = (queue: WorkQueue): void =>
    cache.all('NodeClaim').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
  const stops = [
    cache.on('Pod', ({ type, object, previous }) => {
      const claim = claimOfEvent(context, type, object, previous);
      if (claim !== undefined) pods.add(claim);
    }),
    cache.on('NodeClaim', ({ type, object, previous }) => {
      const name = nameOf(object);
      if (type === 'deleted') {
        signalled.delete(name);
        return;
      }
      if (previous === undefined || idleText(previous) !== idleText(object)) idle.add(name);
    }),
    cache.on('NodePool', ({ type, object, previous }) => {
      if (type === 'deleted' || previous?.metadata.generation === object.metadata.generation) return;
      all(idle);
    }),
  ];
  all(idle);
  return () => {
    for (const stop of stops) stop();
    for (const queue of [pods, idle]) queue.stop();
  };
}

/**
 * The claim on whose node a pod was bound, ended or began to terminate (consolidation/last-pod-event); DaemonSet pods
 * do not count.
 */
function claimOfEvent(
  { cache }: OperatorContext,
  type: 'added' | 'modified' | 'deleted',
  pod: Pod,
  previous: Pod | undefined,
): string | undefined {
  const nodeName = pod.spec.nodeName ?? '';
  if (nodeName === '' || isOwnedBy(pod, 'DaemonSet.apps')) return undefined;
  if (type !== 'deleted' && !isPodEvent(pod, previous)) return undefined;
  const providerId = cache.get('Node', { name: nodeName })?.spec?.providerID;
  return providerId === undefined ? undefined : cache.nodeClaimByProviderId(providerId)?.metadata.name;
}

function isPodEvent(pod: Pod, previous: Pod | undefined): boolean {
  if (previous === undefined) return false;
  const bound = (previous.spec.nodeName ?? '') === '';
  const ended = isTerminal(pod) && !isTerminal(previous);
  return bound || ended || (isDeleting(pod) && !isDeleting(previous));
}

async function podEvent(context: OperatorContext, name: string): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  const last = Date.parse(claim.status?.lastPodEventTime ?? '');
  // The later event is not lost: it is written after the ten seconds.
  const wait = last + podEventDedupeMs - context.now();
  if (wait > 0 && !isAhead(context, last)) return { afterMs: wait };
  await writePodEvent(context, claim);
  return undefined;
}

const isAhead = ({ now }: OperatorContext, at: number | undefined): boolean =>
  at !== undefined && at > now() + clockSkewMs;

/**
 * Together with the conditions that the event changes. Where it changes none, as while pods arrive on a new node, without
 * a resourceVersion: several writers update a claim then.
 */
async function writePodEvent(context: OperatorContext, claim: NodeClaim): Promise<void> {
  const { kube, now } = context;
  const lastPodEventTime = timestamp(now());
  const decide = (live: NodeClaim): ClaimChange => {
    const after = { ...live, status: { ...live.status, lastPodEventTime } };
    const conditions = conditionsAfter(context, after, { isPodEvent: true });
    return { status: { lastPodEventTime, ...(conditions === undefined ? {} : { conditions }) } };
  };
  const change = decide(claim);
  if (change.status?.conditions !== undefined) {
    await updateClaim(kube, identityOf(claim), decide, claim);
    return;
  }
  const { name = '', uid } = claim.metadata;
  await kube.patch('NodeClaim', { name }, { metadata: { uid }, ...change }, { subresource: 'status' });
}

/** Rule `consolidation/consolidate-after`: True if nothing happened for consolidateAfter; absent otherwise. */
async function consolidatable(
  context: OperatorContext,
  name: string,
  became: (claim: NodeClaim) => void,
): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  if (isDeleting(claim)) return undefined;
  if (isAhead(context, idleSince({ claim }))) {
    await writePodEvent(context, claim);
    return undefined;
  }
  if (conditionsAfter(context, claim) !== undefined) {
    const decide = (live: NodeClaim): ClaimChange | undefined => {
      const conditions = conditionsAfter(context, live);
      return conditions === undefined ? undefined : { status: { conditions } };
    };
    await updateClaim(context.kube, identityOf(claim), decide, claim);
  }
  const at = consolidatableAt(viewOf(context, claim));
  if (at <= context.now()) {
    became(claim);
    return undefined;
  }
  return Number.isFinite(at) ? { afterMs: Math.min(longestWaitMs, at - context.now() + 50) } : undefined;
}

const viewOf = ({ cache }: OperatorContext, claim: NodeClaim): NodeView => ({
  ...{ claim, node: nodeOf(cache, claim), pool: poolOf(cache, claim) },
  ...{ pods: [], pricePerHour: 0 },
});

/**
 * The conditions with Consolidatable and Unsettled as they must be; undefined where they are. Unsettled begins with a pod
 * event on a node that could have been idle for consolidateAfter since its initialization, and ends with Consolidatable:
 * its transition time shows since when pod events restart consolidateAfter (consolidation/rolling-updates).
 */
function conditionsAfter(
  context: OperatorContext,
  claim: NodeClaim,
  { isPodEvent = false } = {},
): Condition[] | undefined {
  if (isDeleting(claim)) return undefined;
  const conditions = claim.status?.conditions ?? [];
  const at = consolidatableAt(viewOf(context, claim));
  const isConsolidatable = at <= context.now();
  const restable = (transitionOf(conditions, 'Initialized') ?? Number.NaN) + at - (idleSince({ claim }) ?? 0);
  const begins = isPodEvent && restable <= context.now();
  const changes = Object.entries({
    Consolidatable: isConsolidatable,
    Unsettled: !isConsolidatable && (begins || isTrue(conditions, 'Unsettled')),
  }).filter(([type, holds]) => holds !== isTrue(conditions, type));
  if (changes.length === 0) return undefined;
  const stamp = stampOf(context, claim.metadata);
  return changes.reduce<Condition[]>(
    (all, [type, holds]) => (holds ? withCondition(all, { type, status: 'True' }, stamp) : withoutCondition(all, type)),
    conditions,
  );
}

function stampOf(
  { now }: OperatorContext,
  { generation }: NodeClaim['metadata'],
): { now: number; generation?: number } {
  return { now: now(), ...(generation === undefined ? {} : { generation }) };
}

function idleText({ status, metadata }: NodeClaim): string {
  const initialized = conditionOf(status?.conditions, 'Initialized');
  return JSON.stringify([status?.lastPodEventTime, initialized, metadata.deletionTimestamp]);
}

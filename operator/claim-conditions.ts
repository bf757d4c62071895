import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Pod } from '../api/kubernetes.js';
import { isManaged, nodeOf, poolOf } from '../activities/cluster.js';
import { identityOf } from '../activities/labels-of.js';
import { updateClaim } from '../activities/writes.js';
import { conditionOf, isTrue, timestamp, withCondition, withoutCondition } from '../core/conditions.js';
import { consolidatableAt } from '../disruption/emptiness.js';
import { isOwnedBy, isTerminal, isTerminating } from '../disruption/pods.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';

const podEventDedupeMs = 10_000;
/** Timers beyond this overflow; the claim is looked at again by then anyway. */
const longestWaitMs = 3_600_000;

/** Writes lastPodEventTime and Consolidatable (section 4.4), and tells `disrupt` what has changed. */
export function watchClaimConditions(context: OperatorContext): () => void {
  const { cache, log } = context;
  const pods = new WorkQueue('writing lastPodEventTime', (name) => podEvent(context, name), log);
  const idle = new WorkQueue('writing Consolidatable', (name) => consolidatable(context, name), log);
  const all = (queue: WorkQueue): void =>
    cache.all('NodeClaim').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
  const stops = [
    cache.on('Pod', ({ type, object, previous }) => {
      const claim = claimOfEvent(context, type, object, previous);
      if (claim !== undefined) pods.add(claim);
    }),
    cache.on('NodeClaim', ({ type, object, previous }) => {
      if (type === 'deleted') return;
      const name = object.metadata.name ?? '';
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

/** The claim on whose node a pod came, ended or began to end (section 4.4); DaemonSet pods do not count. */
function claimOfEvent(
  { cache }: OperatorContext,
  type: 'added' | 'modified' | 'deleted',
  pod: Pod,
  previous: Pod | undefined,
): string | undefined {
  const nodeName = pod.spec.nodeName ?? '';
  if (nodeName === '' || isOwnedBy(pod, 'DaemonSet')) return undefined;
  if (type !== 'deleted' && !isPodEvent(pod, previous)) return undefined;
  const providerId = cache.get('Node', { name: nodeName })?.spec?.providerID;
  return providerId === undefined ? undefined : cache.nodeClaimByProviderId(providerId)?.metadata.name;
}

function isPodEvent(pod: Pod, previous: Pod | undefined): boolean {
  if (previous === undefined) return false;
  const bound = (previous.spec.nodeName ?? '') === '';
  const ended = isTerminal(pod) && !isTerminal(previous);
  return bound || ended || (isTerminating(pod) && !isTerminating(previous));
}

async function podEvent(context: OperatorContext, name: string): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  const last = Date.parse(claim.status?.lastPodEventTime ?? '');
  // The later event is not lost: it is written when the ten seconds are over.
  const wait = last + podEventDedupeMs - context.now();
  if (wait > 0) return { afterMs: wait };
  await updateClaim(context.kube, identityOf(claim), () => ({
    status: { lastPodEventTime: timestamp(context.now()) },
  }));
  return undefined;
}

/** Section 4.4: True once nothing happened for consolidateAfter; gone inside the window. */
async function consolidatable(context: OperatorContext, name: string): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  if (claim === undefined || !isManaged(context, claim.spec.nodeClassRef)) return undefined;
  if (claim.metadata.deletionTimestamp !== undefined) return undefined;
  const view = {
    claim,
    node: nodeOf(context.cache, claim),
    pool: poolOf(context.cache, claim),
    pods: [],
    pricePerHour: 0,
  };
  const at = consolidatableAt(view);
  const wanted = at <= context.now();
  const has = isTrue(claim.status?.conditions, 'Consolidatable');
  if (wanted !== has) {
    await updateClaim(context.kube, identityOf(claim), ({ status, metadata }) => ({
      status: {
        conditions: wanted
          ? withCondition(status?.conditions, { type: 'Consolidatable', status: 'True' }, stampOf(context, metadata))
          : withoutCondition(status?.conditions, 'Consolidatable'),
      },
    }));
    if (wanted) await context.starter.disrupt();
  }
  return wanted || !Number.isFinite(at) ? undefined : { afterMs: Math.min(longestWaitMs, at - context.now() + 50) };
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

import { setTimeout as delay } from 'node:timers/promises';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { nodeOf, type NodeLookUps } from '../cluster/cluster.js';
import { noteInterruption } from '../cluster/interruption-note.js';
import { messageOf } from '../core/error-message.js';
import { isRecorded, type InterruptionNotice } from '../core/interruption-kinds.js';
import type { ClusterCache } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { lookUp } from '../core/own.js';
import { isDeleting } from '../core/names.js';

const retryMs = 5000;

/**
 * Passes interruption notices to `handleInterruption`; a message is deleted once its workflow has it
 * (interruption/reading-the-queue).
 */
export async function watchInterruptions(context: OperatorContext, signal: AbortSignal): Promise<void> {
  const { cloud, log } = context;
  const source = cloud.interruptions;
  if (source === undefined) return;
  const handle = interruptionHandler(context);
  let failing = false;
  const over = (): boolean => signal.aborted;
  while (!over()) {
    try {
      await source.run(handle, signal, (reason) =>
        log.debug({ reason }, 'ignored a message of the interruption queue'),
      );
      failing = false;
    } catch (error) {
      if (over()) return;
      if (!failing) log.warn({ error: messageOf(error) }, 'cannot read interruption notices, trying again');
      failing = true;
      await delay(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

interface HandlerContext extends Pick<OperatorContext, 'kube' | 'metrics' | 'log' | 'now' | 'urgently'> {
  readonly cache: ClaimCache;
  readonly starter: Pick<OperatorContext['starter'], 'interruption'>;
}

/**
 * Handles one notice: once the promise resolves, the notice is durable or needs no workflow. If the workflow has it but
 * it could not be recorded on the claim, the promise rejects and the message is delivered again, so that a workflow
 * that is lost meanwhile loses no notice (interruption/recorded-first).
 */
export function interruptionHandler(context: HandlerContext): (notice: InterruptionNotice) => Promise<void> {
  const { cache, starter, log, now, urgently = directly } = context;
  const counts = new InterruptionCounts(context);
  return async (notice) => {
    const { kind, instanceId } = notice;
    counts.received(notice);
    if (claimsOf(cache.all('NodeClaim')).byInstance.has(instanceId)) counts.ofOwnInstance(notice);
    if (await needsWorkflow(notice, cache, now())) {
      log.info({ kind, instanceId }, 'an instance is to be interrupted');
      const noted = urgently(() => note(context, notice)).catch((error: unknown) => error);
      await starter.interruption(notice);
      const failure = await noted;
      if (failure !== undefined)
        throw new Error(`cannot record the ${kind} of ${instanceId} on its NodeClaim and Node: ${messageOf(failure)}`);
    }
    counts.handled(notice);
  };
}

const directly = <T>(work: () => T): T => work();

/** Records the notice on the claim and its node, concurrently with the workflow, which does not wait for it. */
async function note({ kube, cache }: HandlerContext, { kind, instanceId, at }: InterruptionNotice): Promise<void> {
  const claim = claimsOf(cache.all('NodeClaim')).byInstance.get(instanceId);
  if (claim !== undefined && isRecorded(kind)) {
    await noteInterruption(kube, { claim, node: nodeOf(cache, claim) }, { kind, at });
  }
}

interface ClaimCache extends Pick<ClusterCache, 'synced' | 'connected'>, NodeLookUps {
  all(kind: 'NodeClaim'): readonly NodeClaim[];
  isFresh(kind: 'NodeClaim', since: number): Promise<boolean>;
}

/** Maximum clock skew between the cloud and this machine. */
const clockSkewMs = 5000;

/** A notice is dropped only if the cache is known to be newer than the notice. */
async function needsWorkflow(notice: InterruptionNotice, cache: ClaimCache, now: number): Promise<boolean> {
  if (mayConcernUs(notice, cache)) return true;
  if (claimsOf(cache.all('NodeClaim')).byInstance.has(notice.instanceId)) return false;
  const isFresh = await cache.isFresh('NodeClaim', Math.min(now, notice.at + clockSkewMs));
  return !isFresh || mayConcernUs(notice, cache);
}

/**
 * Whether a notice needs a workflow. EventBridge reports every instance of the account, including those that Stowage
 * terminated: an end whose claim is deleting or gone is expected, and an instance without claim belongs to another
 * owner. While that is uncertain, because a claim waits for its instance or the API server does not respond, a warning
 * counts.
 */
export function mayConcernUs(
  { kind, instanceId }: Pick<InterruptionNotice, 'kind' | 'instanceId'>,
  cache: Omit<ClaimCache, 'isFresh' | 'nodeByProviderId'>,
): boolean {
  const known = claimsOf(cache.all('NodeClaim'));
  const claim = known.byInstance.get(instanceId);
  if (kind === 'instance_terminated' || kind === 'instance_stopped') {
    return claim !== undefined && !isDeleting(claim);
  }
  return claim !== undefined || known.launching || !cache.synced || !cache.connected;
}

interface KnownClaims {
  readonly byInstance: ReadonlyMap<string, NodeClaim>;
  /** Whether some claim has no instance yet, so that any instance may belong to it. */
  readonly launching: boolean;
}

/**
 * Cached by the cache's array, which is the same until a claim changes, since thousands of notices may arrive at once.
 */
const indexed = new WeakMap<readonly NodeClaim[], KnownClaims>();

function claimsOf(claims: readonly NodeClaim[]): KnownClaims {
  const found = indexed.get(claims);
  if (found !== undefined) return found;
  const byInstance = new Map<string, NodeClaim>();
  let launching = false;
  for (const claim of claims) {
    const instanceId = claim.status?.providerID?.split('/').at(-1) ?? '';
    if (instanceId === '') launching = true;
    else byInstance.set(instanceId, claim);
  }
  const known = { byInstance, launching };
  indexed.set(claims, known);
  return known;
}

/** Karpenter's names for faults from EC2 status checks, as opposed to queue messages. */
const categories: Readonly<Record<string, string>> = {
  instance_status: 'InstanceStatus',
  system_status: 'SystemStatus',
  event_status: 'EventStatus',
};
/** Maximum number of recent faults remembered. */
const rememberedFaults = 10_000;

/**
 * Metrics of interruption notices, counted as in Karpenter: each queue message, and each fault of an instance of this
 * cluster once, however often the status checks repeat it.
 */
class InterruptionCounts {
  private readonly faults = new Set<string>();

  constructor(private readonly context: Pick<OperatorContext, 'metrics' | 'now'>) {}

  received({ kind, at }: InterruptionNotice): void {
    if (isStatusCheck(kind)) return;
    const { metrics, now } = this.context;
    metrics.count('interruption_received_messages_total', { message_type: kind });
    metrics.observe('interruption_message_queue_duration_seconds', {}, (now() - at) / 1000);
  }

  /** Counts a fault of an instance with a NodeClaim in this cluster. */
  ofOwnInstance({ kind, messageId }: InterruptionNotice): void {
    const category = lookUp(categories, kind);
    if (category === undefined || this.faults.has(messageId)) return;
    this.faults.add(messageId);
    const [oldest] = this.faults;
    if (this.faults.size > rememberedFaults && oldest !== undefined) this.faults.delete(oldest);
    this.context.metrics.count('interruption_instance_status_unhealthy_total', { category });
  }

  handled({ kind }: InterruptionNotice): void {
    if (!isStatusCheck(kind)) this.context.metrics.count('interruption_deleted_messages_total', {});
  }
}

const isStatusCheck = (kind: string): boolean => lookUp(categories, kind) !== undefined;

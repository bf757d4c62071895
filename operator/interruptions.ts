import { setTimeout as delay } from 'node:timers/promises';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Interruption } from '../cloud/port.js';
import { nodeOf, type NodeLookUps } from '../cluster/cluster.js';
import { noteInterruption } from '../cluster/interruption-note.js';
import { messageOf } from '../core/error-message.js';
import { isRecorded } from '../core/interruption-kinds.js';
import type { ClusterCache } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { lookUp } from '../core/own.js';

const retryMs = 5000;

/** Hands interruption notices to `handleInterruption`; a message is deleted once its workflow has it (interruption/reading-the-queue). */
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
 * Takes one notice in: it is durable, or needs no workflow, once the promise resolves. Where its workflow has it but its claim does not, the promise
 * rejects: the message comes again, for as long as it does, so that a workflow that is lost meanwhile loses no notice (interruption/recorded-first).
 */
export function interruptionHandler(context: HandlerContext): (notice: Interruption) => Promise<void> {
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
        throw new Error(`cannot note the ${kind} of ${instanceId} on its NodeClaim and Node: ${messageOf(failure)}`);
    }
    counts.handled(notice);
  };
}

const directly = <T>(work: () => T): T => work();

/** On the claim and its node, beside its workflow: what cannot be written there does not keep that waiting. */
async function note({ kube, cache }: HandlerContext, { kind, instanceId, at }: Interruption): Promise<void> {
  const claim = claimsOf(cache.all('NodeClaim')).byInstance.get(instanceId);
  if (claim !== undefined && isRecorded(kind)) {
    await noteInterruption(kube, { claim, node: nodeOf(cache, claim) }, { kind, at });
  }
}

interface ClaimCache extends Pick<ClusterCache, 'synced' | 'connected'>, NodeLookUps {
  all(kind: 'NodeClaim'): readonly NodeClaim[];
  isFresh(kind: 'NodeClaim', since: number): Promise<boolean>;
}

/** The clocks of the cloud and of this machine differ by less. */
const clockSkewMs = 5000;

/** A notice is dropped only where the cache is known to hold what the API server had when the notice was given. */
async function needsWorkflow(notice: Interruption, cache: ClaimCache, now: number): Promise<boolean> {
  if (mayConcernUs(notice, cache)) return true;
  if (claimsOf(cache.all('NodeClaim')).byInstance.has(notice.instanceId)) return false;
  const isFresh = await cache.isFresh('NodeClaim', Math.min(now, notice.at + clockSkewMs));
  return !isFresh || mayConcernUs(notice, cache);
}

/**
 * Whether a notice needs a workflow. EventBridge tells of every instance of the account, and of those that Stowage ended
 * itself: an end whose claim is going or gone is an echo, and an instance of no claim is somebody else's. As long as that
 * cannot be told for sure — a claim waits for its instance, or the API server does not answer — a warning counts.
 */
export function mayConcernUs(
  { kind, instanceId }: Pick<Interruption, 'kind' | 'instanceId'>,
  cache: Omit<ClaimCache, 'isFresh' | 'nodeByProviderId'>,
): boolean {
  const known = claimsOf(cache.all('NodeClaim'));
  const claim = known.byInstance.get(instanceId);
  if (kind === 'instance_terminated' || kind === 'instance_stopped') {
    return claim !== undefined && claim.metadata.deletionTimestamp === undefined;
  }
  return claim !== undefined || known.launching || !cache.synced || !cache.connected;
}

interface KnownClaims {
  readonly byInstance: ReadonlyMap<string, NodeClaim>;
  /** Some claim has no instance yet, so that any instance may be its. */
  readonly launching: boolean;
}

/** By the cache's array, which is the same one until a claim changes: a flood asks thousands of times. */
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

/** What EC2's status checks say, as against messages of the queue, by Karpenter's names. */
const categories: Readonly<Record<string, string>> = {
  instance_status: 'InstanceStatus',
  system_status: 'SystemStatus',
  event_status: 'EventStatus',
};
/** Faults that were counted lately: more than are ever there at once. */
const rememberedFaults = 10_000;

/**
 * The metrics of interruption notices, as Karpenter counts them: messages of the queue each time, a fault of an instance of this
 * cluster once for as long as it lasts, however often the status checks tell it.
 */
class InterruptionCounts {
  private readonly faults = new Set<string>();

  constructor(private readonly context: Pick<OperatorContext, 'metrics' | 'now'>) {}

  received({ kind, at }: Interruption): void {
    if (isStatusCheck(kind)) return;
    const { metrics, now } = this.context;
    metrics.count('interruption_received_messages_total', { message_type: kind });
    metrics.observe('interruption_message_queue_duration_seconds', {}, (now() - at) / 1000);
  }

  /** Of an instance that a NodeClaim of this cluster has. */
  ofOwnInstance({ kind, messageId }: Interruption): void {
    const category = lookUp(categories, kind);
    if (category === undefined || this.faults.has(messageId)) return;
    this.faults.add(messageId);
    const [oldest] = this.faults;
    if (this.faults.size > rememberedFaults && oldest !== undefined) this.faults.delete(oldest);
    this.context.metrics.count('interruption_instance_status_unhealthy_total', { category });
  }

  handled({ kind }: Interruption): void {
    if (!isStatusCheck(kind)) this.context.metrics.count('interruption_deleted_messages_total', {});
  }
}

const isStatusCheck = (kind: string): boolean => lookUp(categories, kind) !== undefined;

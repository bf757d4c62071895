import { messageOf } from '../../core/error-message.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { nextRefusal, claimRefusalOf, type ClaimRefusal, type Refusing } from '../../core/claim-refusals.js';
import type { RestingPool } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { updateObject } from '../../cluster/writes.js';
import { regarding } from '../../core/events.js';
import { timeText } from '../../core/time.js';
import { listedNames } from '../../core/text.js';

/**
 * Records on the NodePool that a NodeClaim of it was refused, so that plans exclude it for a while. Returns until when,
 * even if the record itself is refused, because then only the caller knows it.
 */
export async function recordRefusal(
  deps: ActivityDeps,
  pool: NodePool,
  message: string,
  more: Pick<Refusing, 'isLasting' | 'pods'> = {},
): Promise<RestingPool> {
  const { name = '' } = pool.metadata;
  const now = deps.now();
  let refusal = nextRefusal(recorded(pool, now), { generation: pool.metadata.generation, now, message, ...more });
  try {
    await updateObject(deps.kube, 'NodePool', name, (live) => {
      if (live.metadata.uid !== pool.metadata.uid) return undefined;
      const before = recorded(live, now);
      refusal = nextRefusal(before, { generation: live.metadata.generation, now, message, ...more });
      return refusal === before ? undefined : annotating(JSON.stringify(refusal));
    });
  } catch (error) {
    deps.log.warn({ nodePool: name, error: messageOf(error) }, 'could not record the back-off of a NodePool');
  }
  publishRefusal(deps, pool, refusal);
  const { until, message: said, pods } = refusal;
  return { nodePool: name, until, message: said, ...(pods === undefined ? {} : { pods }) };
}

/**
 * A NodeClaim of the pool was created for these pods: removes the record of refused NodeClaims, unless it is only about
 * other pods. The record is informative, so a failed write is only logged.
 */
export async function forgetRefusals(deps: ActivityDeps, pool: NodePool, created: ReadonlySet<string>): Promise<void> {
  if (pool.metadata.annotations?.[annotations.claimsRefused] === undefined) return;
  const refusedPods = recorded(pool, deps.now())?.pods;
  if (refusedPods?.some((pod) => created.has(pod)) === false) return;
  const { name = '' } = pool.metadata;
  try {
    await updateObject(deps.kube, 'NodePool', name, ({ metadata }) =>
      metadata.annotations?.[annotations.claimsRefused] === undefined ? undefined : annotating(null),
    );
  } catch (error) {
    deps.log.warn(
      { nodePool: name, error: messageOf(error) },
      'could not record the end of the back-off of a NodePool',
    );
  }
}

/** The NodePool with its back-off, which the cache may not show yet. */
export function withBackOff(pool: NodePool, resting: readonly RestingPool[]): NodePool {
  const rest = resting.find(({ nodePool }) => nodePool === pool.metadata.name);
  if (rest === undefined) return pool;
  const { until, message, pods } = rest;
  const ofPods = pods === undefined ? {} : { pods };
  const refusal: ClaimRefusal = { generation: pool.metadata.generation ?? 0, times: 1, until, message, ...ofPods };
  const { metadata } = pool;
  const own = { ...metadata.annotations, [annotations.claimsRefused]: JSON.stringify(refusal) };
  return { ...pool, metadata: { ...metadata, annotations: own } };
}

const recorded = ({ metadata }: NodePool, now: number): ClaimRefusal | undefined =>
  claimRefusalOf(metadata.annotations?.[annotations.claimsRefused], metadata.generation, now);

const annotating = (text: string | null): { metadata: object } => ({
  metadata: { annotations: { [annotations.claimsRefused]: text } },
});

function publishRefusal(deps: ActivityDeps, { metadata }: NodePool, { until, message, pods }: ClaimRefusal): void {
  const { name = '', uid } = metadata;
  const again = timeText(until);
  const whose = pods === undefined ? '' : ` for ${listedNames(pods)}`;
  deps.log.warn({ nodePool: name, until: again, message, pods }, 'the API server refused a NodeClaim');
  deps.events.publish({
    regarding: regarding('NodePool', { name, uid }),
    type: 'Warning',
    reason: 'NodeClaimRefused',
    message: `The API server refused a NodeClaim${whose}: ${message}. No more are created${whose} before ${again}`,
    dedupeBy: [name, message, whose],
  });
  for (const pod of pods ?? []) {
    const [namespace = '', podName = ''] = pod.split('/');
    const podUid = deps.cache.get('Pod', { namespace, name: podName })?.metadata.uid;
    if (podUid === undefined) continue;
    deps.events.publish({
      regarding: regarding('Pod', { name: podName, namespace, uid: podUid }),
      type: 'Warning',
      reason: 'NodeClaimRefused',
      message: `The API server refused a NodeClaim of NodePool ${name} for what this pod asks of nodes: ${message}. Until ${again} it is planned for other NodePools alone`,
      dedupeBy: [pod, name, message],
    });
  }
}

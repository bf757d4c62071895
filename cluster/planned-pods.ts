import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations, labels } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import type { Plan } from '../packing/types.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';
import { podsAwaitingNodes } from './awaited-nodes.js';
import { inBatches } from '../core/at-once.js';
import { nameOf } from '../core/names.js';

/** Annotations of an object are limited to 256 KiB in total; the list of pods takes at most a quarter. */
const longestText = 64 * 1024;

/** Annotation value for the pods (`namespace/name`) that the last plan placed on the claim's node. */
export function plannedPodsText(pods: readonly string[]): string {
  const text = pods.join();
  return text.length <= longestText ? text : text.slice(0, text.lastIndexOf(',', longestText));
}

export const plannedPods = ({ metadata }: Pick<NodeClaim, 'metadata'>): readonly string[] =>
  namesIn(metadata.annotations?.[annotations.plannedPods]);

/** Those of them that must be nominated to the node for kube-scheduler (provisioning/nominated-pods). */
export const podsToNominate = ({ metadata }: Pick<NodeClaim, 'metadata'>): readonly string[] =>
  namesIn(metadata.annotations?.[annotations.podsToNominate]);

const namesIn = (text = ''): readonly string[] => (text === '' ? [] : text.split(','));

/**
 * Records pods that this plan placed on nodes that are not initialized yet: their claims list them, so that their room
 * is reserved from now on. Best effort: a claim that cannot be written keeps the list of an earlier plan.
 */
export async function notePlannedPods(
  deps: ClusterDeps,
  { existingNodes }: Pick<Plan, 'existingNodes'>,
): Promise<void> {
  const placed = new Map(existingNodes.map(({ node, pods }) => [node, pods]));
  const coming = managedClaims(deps).filter(
    ({ metadata, status }) => metadata.deletionTimestamp === undefined && !isTrue(status?.conditions, 'Initialized'),
  );
  const onTheirWay = podsAwaitingNodes(deps);
  const changed = coming.flatMap((claim) => {
    const node = nodeOf(deps.cache, claim)?.metadata.name ?? nameOf(claim);
    const fresh = placed.get(node) ?? [];
    if (fresh.length === 0) return [];
    return [{ claim, text: plannedPodsText([...new Set([...(onTheirWay.get(node) ?? []), ...fresh])]) }];
  });
  await inBatches(changed, async ({ claim: { metadata }, text }) => {
    const { name = '', uid } = metadata;
    try {
      await deps.kube.patch(
        'NodeClaim',
        { name },
        { metadata: { uid, annotations: { [annotations.plannedPods]: text } } },
      );
    } catch (error) {
      const nodePool = metadata.labels?.[labels.nodePool];
      deps.log.warn(
        { nodeClaim: name, nodePool, error: messageOf(error) },
        'cannot record the pods that are planned for a node',
      );
    }
  });
}

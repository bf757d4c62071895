import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { annotations, labels } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import type { Plan } from '../packing/types.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { ActivityDeps } from './deps.js';
import { promisedPods } from './promises.js';
import { inBatches } from './in-batches.js';

/** Annotations of an object have 256 KiB together; the pods that a claim names take a quarter at most. */
const longestText = 64 * 1024;

/** The pods that the last plan put on the claim's node, `namespace/name`, as the claim's annotation has them. */
export function plannedPodsText(pods: readonly string[]): string {
  const text = pods.join();
  return text.length <= longestText ? text : text.slice(0, text.lastIndexOf(',', longestText));
}

export function plannedPods({ metadata }: Pick<NodeClaim, 'metadata'>): readonly string[] {
  const text = metadata.annotations?.[annotations.plannedPods] ?? '';
  return text === '' ? [] : text.split(',');
}

/**
 * Every plan places the pods that still pend anew, on nodes that are on their way too: their claims name what the last plan
 * put there, so that what is nominated on them agrees with the claims that this plan creates. Nothing depends on it: a claim
 * that cannot be written keeps what an earlier plan said.
 */
export async function notePlannedPods(
  deps: ActivityDeps,
  { existingNodes }: Pick<Plan, 'existingNodes'>,
): Promise<void> {
  if (!deps.nominatePods) return;
  const placed = new Map(existingNodes.map(({ node, pods }) => [node, pods]));
  const coming = managedClaims(deps).filter(
    ({ metadata, status }) => metadata.deletionTimestamp === undefined && !isTrue(status?.conditions, 'Initialized'),
  );
  const onTheirWay = promisedPods(deps);
  const changed = coming.flatMap((claim) => {
    const node = nodeOf(deps.cache, claim)?.metadata.name;
    const promised = (node === undefined ? undefined : onTheirWay.get(node)) ?? [];
    const text = plannedPodsText([...promised, ...(placed.get(node ?? claim.metadata.name ?? '') ?? [])]);
    return text === (claim.metadata.annotations?.[annotations.plannedPods] ?? '') ? [] : [{ claim, text }];
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
        { nodeClaim: name, nodePool, error: String(error) },
        'cannot note the pods that are planned for a node',
      );
    }
  });
}

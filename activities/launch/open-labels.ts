import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { lookUp } from '../../core/own.js';
import { updateClaim } from '../../cluster/writes.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';

/**
 * Labels that are empty on the claim until the cloud tells their value, as Karpenter leaves one. Others are empty for good: bare metal
 * has no hypervisor.
 */
export function openLabels({ cloud }: Pick<ActivityDeps, 'cloud'>, { metadata }: NodeClaim): readonly string[] {
  return (cloud.openLabels ?? []).filter((key) => lookUp(metadata.labels ?? {}, key) === '');
}

/**
 * The claim with the values that the cloud tells of its instance; undefined where one is still lacking, or the claim has gone
 * (registration/open-labels).
 */
export async function withOpenLabels(
  deps: ActivityDeps,
  ref: ClaimRef,
  claim: NodeClaim,
): Promise<NodeClaim | undefined> {
  const open = openLabels(deps, claim);
  if (open.length === 0) return claim;
  const instance = await deps.cloud.get(claim.status?.providerID ?? '');
  const found = open.flatMap((key) => {
    const value = lookUp(instance?.labels ?? {}, key);
    return value === undefined || value === '' ? [] : [[key, value] as const];
  });
  if (found.length < open.length) return undefined;
  return updateClaim(deps.kube, ref, () => ({ metadata: { labels: Object.fromEntries(found) } }));
}

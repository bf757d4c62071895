import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';
import { workflowIds } from '../../core/ids.js';

/** Returns whether the replacement of a claim of a static pool exists: its plan names the disruption of the claim. */
export function replacementsIn(cluster: string, claims: readonly NodeClaim[]): (uid: string) => boolean {
  const plans = new Set(
    claims.flatMap(({ metadata }) => {
      const plan = metadata.annotations?.[annotations.plan];
      // workflow id / run id / index
      return plan === undefined ? [] : [plan.split('/').slice(0, -2).join('/')];
    }),
  );
  return (uid) => plans.has(workflowIds.consolidate(cluster, [uid])) || plans.has(workflowIds.expire(cluster, uid));
}

import type { PlannedClaim } from '../../packing/types.js';
import type { ClaimPlan } from '../../workflows/messages.js';

/** NodeClaims to create, in compact form: each list of types occurs once, and pods are named up to a limit. */
interface ClaimPlans {
  readonly claims: readonly ClaimPlan[];
  readonly typeLists: readonly (readonly string[])[];
}

export function claimPlans(planned: readonly PlannedClaim[], podNames: number): ClaimPlans {
  const lists = new Map<string, number>();
  const typeLists: (readonly string[])[] = [];
  let names = podNames;
  const claims = planned.map((claim): ClaimPlan => {
    const key = claim.instanceTypes.join();
    let types = lists.get(key);
    if (types === undefined) {
      types = typeLists.push(claim.instanceTypes) - 1;
      lists.set(key, types);
    }
    const pods = claim.pods.slice(0, Math.max(0, names));
    names -= pods.length;
    const { nodePool, requirements, labels, annotations, requests, cheapest, why } = claim;
    const podCount = claim.pods.length;
    const named = new Set(pods);
    const nominated = claim.nominated?.filter((pod) => named.has(pod)) ?? [];
    return {
      ...(nominated.length > 0 && { nominated }),
      nodePool,
      types,
      requirements,
      labels,
      annotations,
      requests,
      pods,
      podCount,
      cheapest,
      why,
    };
  });
  return { claims, typeLists };
}

import type { CreatedClaim, PlanNodesResult } from '../../activities/provisioning/contract.js';
import { counted } from '../../core/text.js';
import type { LaunchStart, ReplacementRequest } from '../messages.js';
import { waitersOf } from './replacement-answers.js';

type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

/** The launch of a NodeClaim of a plan. It signals its outcome to the workflows that wait for this node. */
export function plannedLaunch(
  cluster: string,
  claim: CreatedClaim,
  { plan, requests }: { readonly plan: Planned; readonly requests: readonly ReplacementRequest[] },
): LaunchStart {
  const [notify, ...alsoNotify] = waitersOf(plan, claim.index, requests);
  const { name, uid, nodePool, index, isNew = false } = claim;
  const { podCount = 0, cheapest, why } = plan.claims[index] ?? {};
  return {
    input: {
      cluster,
      claim: { name, uid },
      nodePool,
      isFirst: isNew,
      ...(notify === undefined ? {} : { notify }),
      ...(alsoNotify.length === 0 ? {} : { alsoNotify }),
    },
    summary: `${name}: ${counted(podCount, 'pod')}, ${cheapest?.instanceType ?? 'any type'}`,
    ...(why === undefined ? {} : { details: why }),
  };
}

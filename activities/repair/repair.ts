import { snakeCase } from '../../core/text.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import type { DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import { approvalFor, whyOnlyRecommended } from '../../disruption/policies/pool-rules.js';
import { type Unhealthy, conditionToRepair, declinedText, tooManyUnhealthy } from '../../disruption/repair/repair.js';
import type { ClaimRef } from '../../workflows/messages.js';
import { candidateOf, managedClaims, nodeOf, poolOf } from '../../cluster/cluster.js';
import type { RepairActivities, RepairView } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { withFailures } from '../to-failure.js';
import { getClaim, updateClaim } from '../../cluster/writes.js';
import { regarding } from '../../core/events.js';
import { isDeleting } from '../../core/names.js';

const blockedEventMs = 900_000;

/** Activities of `repairNode` on the API server (repair/policies). */
export function createRepairActivities(deps: ActivityDeps): RepairActivities {
  return withFailures<RepairActivities>({
    inspectRepair: ({ claim }) => inspect(deps, claim),
    declineRepair: async ({ claim, condition, why }) => {
      const declined = declinedText(condition, why);
      await updateClaim(deps.kube, claim, () => ({
        metadata: { annotations: { [annotations.repairDeclined]: declined } },
      }));
    },
    countRepair: async ({ claim: ref, condition }) => {
      const claim = await getClaim(deps.kube, ref);
      if (claim === undefined) return;
      const { nodePool, capacityType } = labelsOf(claim);
      deps.metrics.count('nodeclaims_unhealthy_disrupted_total', {
        condition: snakeCase(condition),
        nodepool: nodePool,
        capacity_type: capacityType,
        image_id: claim.status?.imageID ?? '',
      });
    },
  });
}

async function inspect(deps: ActivityDeps, ref: ClaimRef): Promise<RepairView> {
  const claim = await getClaim(deps.kube, ref);
  const node = claim === undefined ? undefined : nodeOf(deps.cache, claim);
  if (claim === undefined || node === undefined || isDeleting(claim)) {
    return { state: 'gone' };
  }
  const policies = deps.cloud.repairPolicies ?? [];
  const found = conditionToRepair(node, policies, claim.metadata.annotations?.[annotations.repairDeclined]);
  if (found === undefined) return { state: 'healthy' };
  // An invalid policy counts too, since it does not stop repairs (see `limitOf`).
  const { policy, spec } = effectivePolicyOf(poolOf(deps.cache, claim), deps.cache.all('DisruptionPolicy'));
  const isDue = found.dueAt <= deps.now();
  // A policy with mode Recommend disrupts nothing, not even unhealthy nodes.
  const leftAlone = whyOnlyRecommended({ ...(policy === undefined ? {} : { policy }), mode: spec.mode });
  const blocked = isDue ? (leftAlone ?? whyBlocked(deps, claim, spec)) : undefined;
  if (blocked !== undefined) publishBlocked(deps, node, blocked);
  return {
    state: 'unhealthy',
    ...describe(node, found),
    ...approvalAndSteps(spec),
    candidate: candidateOf({ claim, node, pricePerHour: 0 }),
    ...(blocked && { blocked }),
  };
}

type UnhealthyNode = Extract<RepairView, { state: 'unhealthy' }>;

function describe(
  { metadata, spec }: Node,
  { type, status, since, dueAt }: Unhealthy,
): Pick<UnhealthyNode, 'nodeName' | 'providerId' | 'condition' | 'since' | 'dueAt'> {
  const { name: nodeName = '' } = metadata;
  return { nodeName, providerId: spec?.providerID ?? '', condition: `${type}=${status}`, since, dueAt };
}

/** Without a policy the spec's defaults apply: no approval, and Karpenter's only step (repair/forced). */
function approvalAndSteps({
  approval: entries,
  repair,
}: DisruptionPolicySpec): Pick<UnhealthyNode, 'steps' | 'approval'> {
  const approval = approvalFor(entries, 'Unhealthy');
  const steps = repair.steps.map(({ action, wait }) => ({ action, waitMs: parseDuration(wait, 'repair.steps.wait') }));
  return { steps, ...(approval === undefined ? {} : { approval }) };
}

function whyBlocked(deps: ActivityDeps, claim: NodeClaim, { repair }: DisruptionPolicySpec): string | undefined {
  return tooManyUnhealthy(group(deps, claim), deps.cloud.repairPolicies ?? [], repair.maximumUnhealthyPercent);
}

/**
 * The nodes of which the percentage is computed: those of the claim's NodePool, or all managed nodes if it has none.
 */
function group(deps: ActivityDeps, claim: NodeClaim): Node[] {
  const pool = claim.metadata.labels?.[labels.nodePool];
  return managedClaims(deps)
    .filter((other) => pool === undefined || other.metadata.labels?.[labels.nodePool] === pool)
    .map((other) => nodeOf(deps.cache, other))
    .filter((node) => node !== undefined);
}

function publishBlocked(deps: ActivityDeps, { metadata }: Node, message: string): void {
  const name = metadata.name ?? '';
  deps.events.publish({
    regarding: regarding('Node', { name }),
    type: 'Warning',
    reason: 'NodeRepairBlocked',
    message,
    dedupeBy: [name],
    dedupeMs: blockedEventMs,
  });
}

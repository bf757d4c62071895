import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Condition } from '../api/kubernetes.js';
import { updateClaim } from '../cluster/writes.js';
import type { ClaimChange } from '../cluster/writes.js';
import { claimLifecycle, isTrue, withCondition, withReady, type ConditionChange } from '../core/conditions.js';
import { messageOf } from '../core/error-message.js';
import { isDomainError } from '../core/failures.js';
import { formatResource, type Resources } from '../core/quantities.js';
import type { ClaimRef } from '../workflows/messages.js';
import type { ActivityDeps } from './deps.js';

/** Resources as Kubernetes quantities, without those of amount zero. */
export function quantitiesOf(resources: Resources): Record<string, string> {
  const present = Object.entries(resources).filter(([, amount]) => amount !== 0);
  return Object.fromEntries(present.map(([name, amount]) => [name, formatResource(name, amount)]));
}

/**
 * Sets lifecycle conditions and Ready, which summarizes them; writes nothing if nothing changes. `seen`: the claim that
 * was read, instead of the cached one.
 */
export async function setConditions(
  deps: Pick<ActivityDeps, 'kube' | 'cache' | 'now'>,
  ref: ClaimRef,
  changes: readonly ConditionChange[],
  { seen, ...more }: { readonly nodeName?: string; readonly seen?: NodeClaim } = {},
): Promise<NodeClaim | undefined> {
  const decide = (claim: NodeClaim): ClaimChange | undefined => {
    const before = claim.status?.conditions;
    const after = conditionsWith(deps, claim, ...changes);
    const same = JSON.stringify(before) === JSON.stringify(after);
    return same && (more.nodeName ?? claim.status?.nodeName) === claim.status?.nodeName
      ? undefined
      : { status: { conditions: after, ...more } };
  };
  const cached = deps.cache.get('NodeClaim', { name: ref.name });
  return updateClaim(deps.kube, ref, decide, seen ?? (cached?.metadata.uid === ref.uid ? cached : undefined));
}

/**
 * Sets conditions that are only informative, such as those of a termination: if the API server refuses them, the work
 * continues (termination/conditions-are-informative).
 */
export async function reportConditions(
  deps: Pick<ActivityDeps, 'kube' | 'cache' | 'now' | 'log'>,
  ref: ClaimRef,
  changes: readonly ConditionChange[],
): Promise<NodeClaim | undefined> {
  try {
    return await setConditions(deps, ref, changes);
  } catch (error) {
    if (!isDomainError(error, 'Denied') && !isDomainError(error, 'Invalid')) throw error;
    const conditions = changes.map(({ type }) => type);
    deps.log.warn(
      { nodeClaim: ref.name, conditions, error: messageOf(error) },
      'could not write conditions of a NodeClaim',
    );
    return undefined;
  }
}

export function conditionsWith(
  deps: Pick<ActivityDeps, 'now'>,
  claim: NodeClaim,
  ...changes: readonly ConditionChange[]
): Condition[] {
  let conditions = claim.status?.conditions ?? [];
  for (const change of [...lasting(conditions), ...launched(claim), ...changes]) {
    conditions = withCondition(conditions, change, at(deps, claim));
  }
  return withReady(conditions, claimLifecycle, at(deps, claim));
}

/**
 * The spec of a NodeClaim never changes (node-claims/immutable), so conditions that are True stay True in the
 * generation that its deletion creates.
 */
const lasting = (conditions: readonly Condition[]): readonly Condition[] =>
  conditions.filter(({ type, status }) => status === 'True' && claimLifecycle.some((one) => one === type));

/**
 * A NodeClaim with an instance was launched, even if the condition has been removed: no later step would set it again.
 */
function launched({ status }: NodeClaim): readonly ConditionChange[] {
  if ((status?.providerID ?? '') === '' || isTrue(status?.conditions, 'Launched')) return [];
  return [{ type: 'Launched', status: 'True' }];
}

function at(deps: Pick<ActivityDeps, 'now'>, { metadata }: NodeClaim): { now: number; generation?: number } {
  return { now: deps.now(), ...(metadata.generation === undefined ? {} : { generation: metadata.generation }) };
}

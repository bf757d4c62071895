import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { taints } from '../api/labels.js';
import { conditionOf, isTrue, withoutCondition } from '../core/conditions.js';
import { hasTaint, withoutTaint } from '../core/taints.js';
import type { Candidate, ClaimRef } from '../workflows/messages.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { identityOf } from './labels-of.js';
import { setConditions } from './launch.js';
import { steerPods } from './steering.js';
import { taintNode } from './termination.js';
import { updateClaim, updateNode } from './writes.js';

type Marked = Pick<Candidate, 'claim' | 'node'>;

/** Section 4.12, step 2: gives back those that were marked. */
export async function taintCandidates(
  deps: ActivityDeps,
  reason: string,
  candidates: readonly Marked[],
): Promise<{ tainted: string[] }> {
  const tainted: string[] = [];
  for (const { claim, node } of candidates) {
    if ((await taintNode(deps, node)) === undefined) continue;
    const marked = await setConditions(deps, claim, [
      { type: 'DisruptionReason', status: 'True', reason, message: reason },
    ]);
    if (marked === undefined) continue;
    tainted.push(claim.uid);
    deps.events.publish({
      regarding: { apiVersion: 'v1', kind: 'Node', name: node },
      type: 'Normal',
      reason: 'DisruptionTerminating',
      message: `Disrupting Node: ${reason}`,
    });
  }
  return { tainted };
}

export async function untaintCandidates(deps: ActivityDeps, candidates: readonly Marked[]): Promise<void> {
  const reasons = new Set<string>();
  for (const { claim, node } of candidates) {
    const reason = await untaint(deps, claim, node);
    if (reason !== undefined && isVoluntary(reason)) reasons.add(reason);
  }
  // What the command was is known to its workflow alone.
  for (const reason of reasons) {
    const failed = { decision: '', reason: reason.toLowerCase(), consolidation_type: '' };
    deps.metrics.count('voluntary_disruption_queue_failures_total', failed);
  }
}

/** Takes the taint off a node that stays; a node that is being deleted keeps it. Why it was marked, if it was. */
async function untaint(deps: ActivityDeps, claim: ClaimRef, node: string): Promise<string | undefined> {
  let reason: string | undefined;
  const live = await updateClaim(deps.kube, claim, ({ metadata, status }) => {
    const present = status?.conditions;
    if (metadata.deletionTimestamp !== undefined || !isTrue(present, 'DisruptionReason')) return undefined;
    reason = conditionOf(present, 'DisruptionReason')?.reason;
    return { status: { conditions: withoutCondition(present, 'DisruptionReason') } };
  });
  if (live === undefined || live.metadata.deletionTimestamp !== undefined) return undefined;
  await updateNode(deps.kube, node, (present) => {
    if (present.metadata.deletionTimestamp !== undefined || !hasTaint(present, taints.disrupted)) return undefined;
    return { spec: { taints: withoutTaint(present, taints.disrupted) } };
  });
  return reason;
}

/** Section 4.1: a taint whose disruption nobody runs is taken off. */
export async function releaseStrays(
  deps: ActivityDeps,
  { running, isSteering = false }: Parameters<DisruptionActivities['releaseStrays']>[0],
): Promise<{ released: string[] }> {
  if (!isSteering) await steerPods(deps, { targets: [], steered: [] });
  const held = new Set(running.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const released: string[] = [];
  for (const claim of managedClaims(deps)) {
    const node = strayNode(deps, claim);
    const own = identityOf(claim);
    if (node === undefined || held.has(own.uid)) continue;
    await untaint(deps, own, node);
    released.push(node);
  }
  return { released };
}

/** The claim's node where it is tainted for a voluntary disruption and stays. */
function strayNode(deps: ActivityDeps, claim: NodeClaim): string | undefined {
  if (claim.metadata.deletionTimestamp !== undefined) return undefined;
  const node = nodeOf(deps.cache, claim);
  if (node === undefined || !hasTaint(node, taints.disrupted)) return undefined;
  const reason = conditionOf(claim.status?.conditions, 'DisruptionReason')?.reason;
  return isOfDisrupt(reason) ? node.metadata.name : undefined;
}

/** Whether `disrupt` knows who marked it. An interruption taints too, asks nobody, and releases its node itself. */
function isOfDisrupt(reason: string | undefined): boolean {
  return isVoluntary(reason) || reason === 'Expired' || reason === 'Unhealthy';
}

/** As Karpenter's own methods (section 4.1). */
function isVoluntary(reason: string | undefined): boolean {
  return reason === undefined || ['Empty', 'Underutilized', 'Drifted'].includes(reason);
}

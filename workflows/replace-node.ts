import { CancellationScope } from '@temporalio/workflow';
import { workflowNow } from './clock.js';
import type { ReplaceNodeInput, ReplaceNodeResult } from './messages.js';
import { searchAttributes } from './messages.js';
import { isAborted, Oversight } from './oversight.js';
import { endNode } from './node-end.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { Replacements } from './replacements.js';

/**
 * Replaces one node that has leave to go (section 4.12): taint, new places for its pods, and only when these are up the
 * drain. Whatever ends it before that leaves no taint; what was launched stays as capacity.
 */
export async function replaceNode(input: ReplaceNodeInput): Promise<ReplaceNodeResult> {
  const { cluster, reason, candidate, withinMs } = input;
  const { claim, node, nodePool } = candidate;
  const { kube } = activitiesOf(cluster);
  const replacements = new Replacements(cluster);
  const progress = new Progress(
    `${reason}: ${node} is replaced`,
    [
      { key: searchAttributes.cluster, value: cluster },
      { key: searchAttributes.nodePool, value: nodePool },
      { key: searchAttributes.nodeClaim, value: claim.name },
      { key: searchAttributes.reason, value: reason.toLowerCase() },
    ],
    { node, NodeClaim: claim.name, NodePool: nodePool },
  );
  const oversight = new Oversight(progress);
  let tainted = false;
  const end = (outcome: ReplaceNodeResult['outcome'], why?: string): ReplaceNodeResult => {
    progress.enter(outcome, why === undefined ? {} : { facts: { [`${outcome} because`]: why } });
    return { outcome, replacements: replacements.claims, ...(why === undefined ? {} : { reason: why }) };
  };
  const untaint = async (): Promise<void> => {
    if (!tainted) return;
    tainted = false;
    await kube.untaintCandidates({ candidates: [candidate] });
  };
  try {
    await oversight.gate();
    if ((await kube.viewClaim({ claim })).state !== 'live') return end('gone');
    tainted = true;
    await kube.taintCandidates({ reason, candidates: [candidate] });
    await replacements.request([node], reason.toLowerCase(), withinMs);
    progress.enter('replacing', { waitingFor: 'the replacement to be up', until: workflowNow() + withinMs });
    const verdict = await replacements.settled(withinMs);
    oversight.throwIfAborted();
    if (verdict !== 'ready') {
      const why = replacements.planned?.firstReason ?? 'the replacement did not come up';
      return end('failed', verdict === 'late' ? `no replacement within ${withinMs / 60_000} minutes` : why);
    }
    const retaint = async (): Promise<void> => {
      tainted = true;
      await kube.taintCandidates({ reason, candidates: [candidate] });
    };
    await oversight.gate({ release: untaint, restore: retaint });
    oversight.passPointOfNoReturn();
    tainted = false;
    progress.enter('draining', { waitingFor: node });
    await endNode({ cluster, claim, nodePool, reason: reason.toLowerCase() });
    return end('replaced');
  } catch (error) {
    if (isAborted(error)) return end('aborted', error.message);
    throw error;
  } finally {
    await CancellationScope.nonCancellable(untaint);
    oversight.finish();
  }
}

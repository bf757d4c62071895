import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/compare-text.js';
import type { Candidate, DisruptionMethod } from '../../workflows/messages.js';
import { disruptionCost } from '../../disruption/costs.js';
import { doNotDisruptUntil, isTerminal, isTerminating, podKey } from '../../core/pods.js';
import type { DisruptionActivities } from '../contract.js';
import type { ActivityDeps } from '../deps.js';
import { inBatches } from '../../core/in-batches.js';

type Input = Parameters<DisruptionActivities['confirmCandidates']>[0];
type Blocked = Awaited<ReturnType<DisruptionActivities['confirmCandidates']>>['blocked'];

/**
 * Rule `commands/confirmed-behind-the-taint`: validated once more behind the taint, by the API server's own word: until it stood, pods may have landed that the last look
 * had not seen. A drain cannot be taken back, and would wait for one that is not to be disrupted as long as that runs.
 */
export async function confirmCandidates(
  deps: ActivityDeps,
  { method, candidates }: Input,
): Promise<{ readonly blocked: Blocked }> {
  const blocked: Blocked[number][] = [];
  await inBatches(candidates, async (candidate) => {
    const { node } = candidate;
    const pods = await deps.kube.list('Pod', { fieldSelector: `spec.nodeName=${node}` });
    const why = whyNotAfterAll(deps, pods, { method, candidate });
    if (why !== undefined) blocked.push({ node, why });
  });
  return { blocked: blocked.sort((a, b) => compareText(a.node, b.node)) };
}

function whyNotAfterAll(
  deps: Pick<ActivityDeps, 'cache' | 'now'>,
  pods: readonly Pod[],
  { method, candidate: { claim } }: { readonly method: DisruptionMethod; readonly candidate: Pick<Candidate, 'claim'> },
): string | undefined {
  if (method === 'empty' && disruptionCost(pods) > 1) return 'pods have come to it';
  // Rule `candidates/drift-waives`: a terminationGracePeriod bounds the drain of a drifted node, whatever its pods ask for.
  const grace = deps.cache.get('NodeClaim', { name: claim.name })?.spec.terminationGracePeriod;
  if (method === 'drift' && grace !== undefined) return undefined;
  const now = deps.now();
  const kept = pods.find((pod) => !isTerminal(pod) && !isTerminating(pod) && doNotDisruptUntil(pod, now) !== undefined);
  return kept === undefined ? undefined : `pod ${podKey(kept)} has come to it, and is marked do-not-disrupt`;
}

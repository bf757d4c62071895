import { parseWorkflowId } from '../../core/ids.js';
import type { RunningDisruption, TaintOwner } from '../messages.js';

/**
 * Adds to `running` the workflows that hold taints on nodes and are not known, as after `disrupt` was terminated and lost its
 * state (candidates/left-over-taints). `found` is the complete list: workflows adopted earlier that are no longer in it are
 * dropped. A workflow that requests slots itself is not adopted.
 */
export function withAdopted(
  running: readonly RunningDisruption[],
  found: readonly TaintOwner[],
  { asking, now }: { readonly asking: readonly string[]; readonly now: number },
): readonly RunningDisruption[] {
  const own = running.filter(({ isAdopted }) => isAdopted !== true);
  const held = new Set(own.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const adopted = found.flatMap(({ workflowId, reason, candidates }): RunningDisruption[] => {
    if (asking.some((asker) => isOf(workflowId, asker))) return [];
    const free = candidates.filter(({ claim }) => !held.has(claim.uid));
    const before = running.find((one) => one.isAdopted === true && one.workflowId === workflowId);
    const since = before?.since ?? now;
    return free.length === 0 ? [] : [{ workflowId, reason, candidates: free, since, isAdopted: true }];
  });
  return [...own, ...adopted];
}

/** Drops the adopted entries of a workflow, once it requests or returns slots itself. */
export function withoutAdopted(
  running: readonly RunningDisruption[],
  workflowId: string,
): readonly RunningDisruption[] {
  return running.filter((one) => one.isAdopted !== true || !isOf(one.workflowId, workflowId));
}

/**
 * Whether the taints of `owner` belong to the requests of `asker`: a rollout (`drift`) requests the slots for nodes that its
 * `replaceNode` children taint.
 */
function isOf(owner: string, asker: string): boolean {
  if (owner === asker) return true;
  return parseWorkflowId(owner)?.kind === 'replace' && parseWorkflowId(asker)?.kind === 'drift';
}

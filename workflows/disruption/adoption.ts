import { parseWorkflowId } from '../../core/ids.js';
import type { RunningDisruption, TaintOwner } from '../messages.js';

/**
 * What `disrupt` knows to run, with the owners of taints that it did not start and nobody asked it for, as after it was lost (candidates/left-over-taints).
 * `found` is all of them: one that was adopted before and is closed by now, or has let go of its nodes, is dropped. Whoever asks for a slot
 * itself is not adopted besides.
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

/** Without those adopted that the workflow answers for: it asks by itself, or has given back what it took. */
export function withoutAdopted(
  running: readonly RunningDisruption[],
  workflowId: string,
): readonly RunningDisruption[] {
  return running.filter((one) => one.isAdopted !== true || !isOf(one.workflowId, workflowId));
}

/** Whether `asker` asks for what `owner` takes: a rollout asks for the nodes that its replacements taint. */
function isOf(owner: string, asker: string): boolean {
  if (owner === asker) return true;
  return parseWorkflowId(owner)?.kind === 'replace' && parseWorkflowId(asker)?.kind === 'drift';
}

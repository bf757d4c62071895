import { noteQuestion, taintCandidates, untaintCandidates } from './candidate-marks.js';
import { removeLeftOvers } from './left-over-taints.js';
import { noteRefused, takeRefusalsBack } from './refusals.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { DisruptionFinder } from './find-disruptions.js';
import { withFailures } from '../to-failure.js';
import { validateCandidates } from './validation.js';
import { activePauses, whyPaused } from '../../cluster/pauses.js';
import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import type { Candidate, DisruptionMethod } from '../../workflows/messages.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { podMarkedDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { forEachItem } from '../for-each-item.js';
import { regarding } from '../../core/events.js';
import { fullName } from '../../core/names.js';

const warnings: ReadonlySet<string> = new Set(['DisruptionBlocked', 'ConsolidationRejected', 'DrainForced']);

/** Rule `events/of-a-disruption`: an event on each node of a disruption. */
async function publishDisruption(
  { events }: ActivityDeps,
  { nodes, reason, message }: { readonly nodes: readonly string[]; readonly reason: string; readonly message: string },
): Promise<void> {
  const type = warnings.has(reason) ? 'Warning' : 'Normal';
  for (const name of nodes) {
    events.publish({ regarding: regarding('Node', { name }), type, reason, message });
  }
  return Promise.resolve();
}

/** Activities of `disrupt` and `consolidate` (docs/behaviour/commands.md). */
export function createDisruptionActivities(deps: ActivityDeps): DisruptionActivities {
  const finder = new DisruptionFinder(deps);
  return withFailures<DisruptionActivities>({
    findDisruptions: async ({ leftOvers, ...view }) => {
      const found = await finder.find(view);
      if (leftOvers === undefined) return found;
      return { ...found, ...(await removeLeftOvers(deps, { ...leftOvers, commands: view.commands })) };
    },
    validateCandidates: (input) => validateCandidates(deps, input),
    confirmCandidates: (input) => confirmCandidates(deps, input),
    publishDisruption: (input) => publishDisruption(deps, input),
    taintCandidates: (input) => taintCandidates(deps, input),
    untaintCandidates: (input) => untaintCandidates(deps, input),
    noteQuestion: ({ candidates, ...question }) => noteQuestion(deps, candidates, question),
    noteRefused: (input) => noteRefused(deps, input),
    reconsider: (order) => takeRefusalsBack(deps, order),
  });
}

type Input = Parameters<DisruptionActivities['confirmCandidates']>[0];
type Confirmed = Awaited<ReturnType<DisruptionActivities['confirmCandidates']>>;
type Blocked = Confirmed['blocked'][number];

/**
 * Checks candidates once more after they are tainted, against the API server (commands/checked-after-the-taint): before
 * the taint pods may have landed that the watch cache had not seen, and a pause may have begun. A drain cannot be
 * undone, and would wait for a do-not-disrupt pod as long as that runs.
 */
export async function confirmCandidates(deps: ActivityDeps, { method, reason, candidates }: Input): Promise<Confirmed> {
  const blocked: Blocked[] = [];
  const confirm = async (candidate: Input['candidates'][number]): Promise<void> => {
    const { node } = candidate;
    const pods = await deps.kube.list('Pod', { fieldSelector: `spec.nodeName=${node}` });
    const why = whyNoLongerCandidate(deps, pods, { method, candidate });
    if (why !== undefined) blocked.push({ node, why });
  };
  const nameOf = ({ node }: { readonly node: string }): string => `Node ${node}`;
  const unread = await forEachItem(deps, candidates, confirm, { what: 'the list of its pods', nameOf });
  blocked.push(...unread.map(({ item: { node }, why }) => ({ node, why: `its pods cannot be listed: ${why}` })));
  const pauses = await activePauses(deps);
  const paused = candidates.map((candidate) => whyPaused(pauses, reason, candidate)).find((why) => why !== undefined);
  return {
    blocked: blocked.sort((a, b) => compareText(a.node, b.node)),
    ...(paused === undefined ? {} : { paused }),
  };
}

function whyNoLongerCandidate(
  deps: Pick<ActivityDeps, 'cache' | 'now'>,
  pods: readonly Pod[],
  { method, candidate: { claim } }: { readonly method: DisruptionMethod; readonly candidate: Pick<Candidate, 'claim'> },
): string | undefined {
  if (method === 'empty' && !isEmpty({ pods })) return 'pods were bound to it';
  // A terminationGracePeriod limits the drain of a drifted node, even if its pods are marked do-not-disrupt
  // (candidates/drift-waives).
  const grace = deps.cache.get('NodeClaim', { name: claim.name })?.spec.terminationGracePeriod;
  if (method === 'drift' && grace !== undefined) return undefined;
  const marked = podMarkedDoNotDisrupt(pods, deps.now());
  return marked === undefined ? undefined : `pod ${fullName(marked)} was bound to it and is marked do-not-disrupt`;
}

import { noteQuestion, taintCandidates, untaintCandidates } from './candidate-marks.js';
import { removeLeftOvers } from './left-over-taints.js';
import { noteRefused, takeRefusalsBack } from './refusals.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { DisruptionFinder } from './find-disruptions.js';
import { withFailures } from '../to-failure.js';
import { confirmCandidates, validateCandidates } from './validation.js';
import { regarding } from '../../core/events.js';

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
      return leftOvers === true ? { ...found, ...(await removeLeftOvers(deps, view)) } : found;
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

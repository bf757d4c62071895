import { noteQuestion, taintCandidates, untaintCandidates } from './candidate-marks.js';
import { releaseStrays } from './left-over-taints.js';
import { noteRefused, takeRefusalsBack } from './refusals.js';
import { confirmCandidates } from './confirmation.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { publishDisruption } from './disruption-events.js';
import { DisruptionFinder } from './find-disruptions.js';
import { withFailures } from '../to-failure.js';
import { validateCandidates } from './validation.js';

/** Activities of `disrupt` and `consolidate` (docs/behaviour/commands.md). */
export function createDisruptionActivities(deps: ActivityDeps): DisruptionActivities {
  const finder = new DisruptionFinder(deps);
  return withFailures<DisruptionActivities>({
    findDisruptions: (view) => finder.find(view),
    validateCandidates: (input) => validateCandidates(deps, input),
    confirmCandidates: (input) => confirmCandidates(deps, input),
    publishDisruption: (input) => publishDisruption(deps, input),
    taintCandidates: (input) => taintCandidates(deps, input),
    untaintCandidates: (input) => untaintCandidates(deps, input),
    noteQuestion: ({ candidates, ...question }) => noteQuestion(deps, candidates, question),
    noteRefused: (input) => noteRefused(deps, input),
    reconsider: (order) => takeRefusalsBack(deps, order),
    releaseStrays: (input) => releaseStrays(deps, input),
  });
}

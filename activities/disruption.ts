import { releaseStrays, taintCandidates, untaintCandidates } from './candidate-marks.js';
import { confirmCandidates } from './confirmation.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { publishDisruption } from './disruption-events.js';
import { explainNode } from './explain-node.js';
import { Finder } from './find-disruptions.js';
import { measureMove } from './measure-move.js';
import { decideSlots } from './slots.js';
import { steerPods } from './steering.js';
import { withFailures } from './to-failure.js';
import { validateCandidates } from './validation.js';

/** Activities of `disrupt` and `consolidate` (sections 4.1 to 4.12). */
export function createDisruptionActivities(deps: ActivityDeps): DisruptionActivities {
  const finder = new Finder(deps);
  return withFailures<DisruptionActivities>({
    findDisruptions: (view) => finder.find(view),
    decideSlots: (input) => decideSlots(deps, input),
    explainNode: (input) => explainNode(deps, input),
    validateCandidates: (input) => validateCandidates(deps, input),
    confirmCandidates: (input) => confirmCandidates(deps, input),
    measureMove: (input) => measureMove(deps, input),
    publishDisruption: (input) => publishDisruption(deps, input),
    taintCandidates: ({ reason, candidates }) => taintCandidates(deps, reason, candidates),
    untaintCandidates: ({ candidates }) => untaintCandidates(deps, candidates),
    releaseStrays: (input) => releaseStrays(deps, input),
    steerPods: (input) => steerPods(deps, input),
  });
}

import type { ActivityDeps } from '../deps.js';
import { withFailures } from '../to-failure.js';
import type { ConsolidationActivities } from './contract.js';
import { measureCommand } from './measure-command.js';
import { steerPods } from './steering.js';

/** Activities around a consolidation: steering evicted pods, and measuring what the command has saved. */
export function createConsolidationActivities(deps: ActivityDeps): ConsolidationActivities {
  return withFailures<ConsolidationActivities>({
    measureCommand: (input) => measureCommand(deps, input),
    steerPods: (input) => steerPods(deps, input),
  });
}

import type { EntityActivities } from './entities-contract.js';
import type { ActivityDeps } from './deps.js';
import { withFailures } from './to-failure.js';

/**
 * Starts an entity workflow for a workflow that signals it. It may not run, because nothing has started it yet or it
 * was terminated.
 */
export function createEntityActivities(deps: Pick<ActivityDeps, 'entities'>): EntityActivities {
  return withFailures<EntityActivities>({ ensureEntity: ({ entity }) => deps.entities.ensure(entity) });
}

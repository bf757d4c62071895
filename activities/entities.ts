import type { EntityActivities } from './entities-contract.js';
import type { ActivityDeps } from './deps.js';
import { withFailures } from './to-failure.js';

/** For workflows that need an entity workflow which may not run: nothing has asked for it yet, or somebody terminated it. */
export function createEntityActivities(deps: Pick<ActivityDeps, 'entities'>): EntityActivities {
  return withFailures<EntityActivities>({ ensureEntity: ({ entity }) => deps.entities.ensure(entity) });
}

import { createClaimActivities } from './claims.js';
import { createCloudActivities } from './cloud.js';
import type { ActivityDeps } from './deps.js';
import { createDisruptionActivities } from './disruption.js';
import { createDrainActivities } from './drain.js';
import { createEscalationActivities } from './escalation.js';
import { createLaunchActivities } from './launch.js';
import { createPlanningActivities } from './planning.js';
import { createRepairActivities } from './repair.js';
import { createReplicasActivities } from './replicas.js';
import { createRolloutActivities } from './rollout.js';
import { createRotationActivities } from './rotation.js';
import { createTerminationActivities } from './termination.js';
import { withHeartbeats } from './with-heartbeats.js';

/** All activities by the task queue that serves them (workflows/messages.ts, `taskQueues`). */
export function createActivities(deps: ActivityDeps): {
  readonly control: object;
  readonly packing: object;
  readonly cloud: object;
  readonly drain: object;
} {
  return {
    control: withHeartbeats({
      ...createClaimActivities(deps),
      ...createLaunchActivities(deps),
      ...createTerminationActivities(deps),
      ...createDisruptionActivities(deps),
      ...createEscalationActivities(deps),
      ...createRepairActivities(deps),
      ...createReplicasActivities(deps),
      ...createRolloutActivities(deps),
      ...createRotationActivities(deps),
    }),
    packing: withHeartbeats(createPlanningActivities(deps)),
    cloud: withHeartbeats(createCloudActivities(deps)),
    drain: withHeartbeats(createDrainActivities(deps)),
  };
}

import type { TaskQueue } from '../workflows/messages.js';
import { createConsolidationActivities } from './consolidation/consolidation.js';
import { createClaimActivities } from './provisioning/claims.js';
import { createCloudActivities } from './launch/cloud.js';
import type { ActivityDeps } from './deps.js';
import { createDisruptionActivities } from './disruption/disruption.js';
import { createDrainActivities } from './termination/drain.js';
import { createEntityActivities } from './entities.js';
import { createEscalationActivities } from './termination/escalation.js';
import { createLaunchActivities } from './launch/launch.js';
import { createInterruptionActivities } from './interruption/inspect-instance.js';
import { createNodeExplanationActivities, createPodExplanationActivities } from './people/explanations.js';
import { createPauseActivities } from './people/pauses.js';
import { createPlanningActivities } from './provisioning/planning.js';
import { createRepairActivities } from './repair/repair.js';
import { createReplicasActivities } from './static-capacity/replicas.js';
import { createRolloutActivities } from './drift/rollout.js';
import { createExpirationActivities } from './expiration/expiration.js';
import { createTerminationActivities } from './termination/termination.js';
import { withHeartbeats } from './with-heartbeats.js';

/** All activities by the task queue that serves them (workflows/messages.ts, `taskQueues`). */
export function createActivities(deps: ActivityDeps): Readonly<Record<TaskQueue, object>> {
  const control = {
    ...createEntityActivities(deps),
    ...createPauseActivities(deps),
    ...createClaimActivities(deps),
    ...createLaunchActivities(deps),
    ...createTerminationActivities(deps),
    ...createDisruptionActivities(deps),
    ...createConsolidationActivities(deps),
    ...createNodeExplanationActivities(deps),
    ...createEscalationActivities(deps),
    ...createRepairActivities(deps),
    ...createReplicasActivities(deps),
    ...createRolloutActivities(deps),
    ...createExpirationActivities(deps),
  };
  const cloud = {
    ...createCloudActivities(deps),
    ...createInterruptionActivities(deps),
  };
  // Workers of these queues serve all activities that interruptions and terminations use.
  const ending = withHeartbeats({ ...control, ...cloud, ...createDrainActivities(deps) });
  return {
    control: withHeartbeats(control),
    packing: withHeartbeats({ ...createPlanningActivities(deps), ...createPodExplanationActivities(deps) }),
    cloud: withHeartbeats(cloud),
    drain: ending,
    urgent: ending,
  };
}

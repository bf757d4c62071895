import { Context } from '@temporalio/activity';
import type { TaskQueue } from '../workflows/messages.js';
import { createConsolidationActivities } from './consolidation/consolidation.js';
import { createClaimActivities } from './provisioning/claims.js';
import { createCloudActivities } from './launch/cloud.js';
import type { ActivityDeps } from './deps.js';
import type { EntityActivities } from './entities-contract.js';
import { progressOf } from './attempt.js';
import { createDisruptionActivities } from './disruption/disruption.js';
import { createDrainActivities } from './termination/drain.js';
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
import { withFailures } from './to-failure.js';

/** All activities by the task queue that serves them (workflows/messages.ts, `taskQueues`). */
export function createActivities(deps: ActivityDeps): Readonly<Record<TaskQueue, object>> {
  const control = {
    ...createEntityActivities(deps),
    ...createPauseActivities(deps),
    ...createClaimActivities(deps),
    ...createLaunchActivities(deps),
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
    ...createTerminationActivities(deps),
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

/**
 * Starts an entity workflow for a workflow that signals it. It may not run, because nothing has started it yet or it
 * was terminated.
 */
function createEntityActivities(deps: Pick<ActivityDeps, 'entities'>): EntityActivities {
  return withFailures<EntityActivities>({ ensureEntity: ({ entity }) => deps.entities.ensure(entity) });
}

/** Half of the heartbeat timeout. Most activities are shorter and send none: each is an action of Temporal Cloud. */
export const heartbeatMs = 5000;

/**
 * Wraps activities so that they heartbeat as long as they run: if a worker dies, the server notices that within the
 * heartbeat timeout and schedules another attempt, instead of waiting for the timeout of the attempt.
 */
function withHeartbeats<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities as Record<string, (input: unknown) => Promise<unknown>>).map(
    ([name, activity]) =>
      [
        name,
        async (input: unknown): Promise<unknown> => {
          const context = Context.current();
          // A local activity belongs to its workflow task, which has a heartbeat of its own.
          if (context.info.isLocal) return activity(input);
          const beats = setInterval(() => context.heartbeat(progressOf(context)), heartbeatMs);
          try {
            return await activity(input);
          } finally {
            clearInterval(beats);
          }
        },
      ] as const,
  );
  return Object.fromEntries(wrapped) as T;
}

import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { ActivityInterfaceFor } from '@temporalio/workflow';
import type {
  ClaimActivities,
  CloudActivities,
  DisruptionActivities,
  DrainActivities,
  EscalationActivities,
  LaunchActivities,
  PlanningActivities,
  RepairActivities,
  TerminationActivities,
} from '../activities/contract.js';
import type { ReplicasActivities } from '../activities/replicas-contract.js';
import type { RolloutActivities } from '../activities/rollout-contract.js';
import type { RotationActivities } from '../activities/rotation-contract.js';
import { taskQueues } from './messages.js';

type KubernetesActivities = ClaimActivities &
  LaunchActivities &
  TerminationActivities &
  DisruptionActivities &
  EscalationActivities &
  RepairActivities &
  ReplicasActivities &
  RolloutActivities &
  RotationActivities;

/** Every activity heartbeats: one whose worker died goes to another this soon. */
const deadAfter = '10 seconds';

/**
 * Activity proxies of a cluster. Every one has a bound for an attempt and one in total; the total is long, because
 * an unreachable API server or cloud is waited for, not given up on (invariant 10).
 */
export function activitiesOf(cluster: string): {
  readonly kube: ActivityInterfaceFor<KubernetesActivities>;
  readonly packing: ActivityInterfaceFor<PlanningActivities>;
  readonly cloud: ActivityInterfaceFor<CloudActivities>;
  readonly waitCloud: ActivityInterfaceFor<Pick<CloudActivities, 'awaitInstanceGone'>>;
  readonly drain: ActivityInterfaceFor<DrainActivities>;
} {
  const queues = taskQueues(cluster);
  return {
    kube: proxyActivities<KubernetesActivities>({
      taskQueue: queues.control,
      heartbeatTimeout: deadAfter,
      startToCloseTimeout: '1 minute',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    }),
    packing: proxyActivities<PlanningActivities>({
      taskQueue: queues.packing,
      heartbeatTimeout: deadAfter,
      startToCloseTimeout: '10 minutes',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
      cancellationType: ActivityCancellationType.TRY_CANCEL,
    }),
    cloud: proxyActivities<CloudActivities>({
      taskQueue: queues.cloud,
      heartbeatTimeout: deadAfter,
      startToCloseTimeout: '2 minutes',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    }),
    waitCloud: proxyActivities<Pick<CloudActivities, 'awaitInstanceGone'>>({
      taskQueue: queues.cloud,
      heartbeatTimeout: deadAfter,
      startToCloseTimeout: '30 days',
      scheduleToCloseTimeout: '60 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    }),
    drain: proxyActivities<DrainActivities>({
      taskQueue: queues.drain,
      heartbeatTimeout: deadAfter,
      startToCloseTimeout: '30 days',
      scheduleToCloseTimeout: '60 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
      cancellationType: ActivityCancellationType.TRY_CANCEL,
    }),
  };
}

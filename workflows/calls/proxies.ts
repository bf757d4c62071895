import { ActivityCancellationType, proxyActivities, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { ActivityInterfaceFor } from '@temporalio/workflow';
import type { ClaimActivities, PlanningActivities } from '../../activities/provisioning/contract.js';
import type { CloudActivities, LaunchActivities } from '../../activities/launch/contract.js';
import type { DisruptionActivities } from '../../activities/disruption/contract.js';
import type {
  DrainActivities,
  EscalationActivities,
  FinishActivities,
  TerminationActivities,
} from '../../activities/termination/contract.js';
import type { EntityActivities } from '../../activities/entities-contract.js';
import type { ConsolidationActivities } from '../../activities/consolidation/contract.js';
import type { InterruptionActivities } from '../../activities/interruption/contract.js';
import type {
  NodeExplanationActivities,
  PauseActivities,
  PodExplanationActivities,
} from '../../activities/people/contract.js';
import type { RepairActivities } from '../../activities/repair/contract.js';
import type { ReplicasActivities } from '../../activities/static-capacity/contract.js';
import type { RolloutActivities } from '../../activities/drift/contract.js';
import type { ExpirationActivities } from '../../activities/expiration/contract.js';
import { taskQueues } from '../messages.js';

type KubernetesActivities = EntityActivities &
  PauseActivities &
  ClaimActivities &
  LaunchActivities &
  TerminationActivities &
  DisruptionActivities &
  ConsolidationActivities &
  NodeExplanationActivities &
  EscalationActivities &
  RepairActivities &
  ReplicasActivities &
  RolloutActivities &
  ExpirationActivities;

type PackingActivities = PlanningActivities & PodExplanationActivities;
type CloudQueueActivities = CloudActivities & InterruptionActivities & FinishActivities;

export interface Activities {
  readonly kube: ActivityInterfaceFor<KubernetesActivities>;
  readonly packing: ActivityInterfaceFor<PackingActivities>;
  readonly cloud: ActivityInterfaceFor<CloudQueueActivities>;
  readonly drain: ActivityInterfaceFor<DrainActivities>;
  /**
   * Short, idempotent activities that run within the workflow task: no action, task and event of their own. Tried once:
   * what fails is called again as an ordinary activity, which waits for outages and whose failures are shown.
   */
  readonly local: ActivityInterfaceFor<Pick<LaunchActivities, 'syncNode'>>;
}

/** Every activity heartbeats, so that one whose worker died is retried after this time, milliseconds. */
export const heartbeatTimeout = 10_000;

/**
 * Activity proxies of a cluster. The total timeout is long, because an API server or cloud that is unreachable is
 * waited for (invariants/outages-harm-nothing). A single attempt is short: an activity does not wait for the cluster to
 * change, its workflow does that with timers.
 *
 * Queue `urgent` takes the activities of all groups except packing; `drain` only those that call Kubernetes. The default
 * is `urgent` in workflows that run on the urgent queue themselves.
 */
export function activitiesOf(cluster: string, queue: 'drain' | 'urgent' | undefined = ownQueue(cluster)): Activities {
  const queues = taskQueues(cluster);
  return {
    kube: proxyActivities<KubernetesActivities>({
      taskQueue: queues[queue ?? 'control'],
      heartbeatTimeout,
      startToCloseTimeout: '1 minute',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    }),
    packing: proxyActivities<PackingActivities>({
      taskQueue: queues.packing,
      heartbeatTimeout,
      startToCloseTimeout: '10 minutes',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
      cancellationType: ActivityCancellationType.TRY_CANCEL,
    }),
    cloud: proxyActivities<CloudQueueActivities>({
      taskQueue: queues[queue === 'urgent' ? 'urgent' : 'cloud'],
      heartbeatTimeout,
      startToCloseTimeout: '2 minutes',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    }),
    drain: proxyActivities<DrainActivities>({
      taskQueue: queues[queue ?? 'drain'],
      heartbeatTimeout,
      startToCloseTimeout: '2 minutes',
      scheduleToCloseTimeout: '30 days',
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
      cancellationType: ActivityCancellationType.TRY_CANCEL,
    }),
    local: proxyLocalActivities<LaunchActivities>({ startToCloseTimeout: '1 minute', retry: { maximumAttempts: 1 } }),
  };
}

function ownQueue(cluster: string): 'urgent' | undefined {
  return workflowInfo().taskQueue === taskQueues(cluster).urgent ? 'urgent' : undefined;
}

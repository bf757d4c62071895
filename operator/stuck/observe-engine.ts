import type { Client, WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import proto from '@temporalio/proto';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { inBatches } from '../../core/in-batches.js';
import { compareText } from '../../core/compare-text.js';
import { workflowIds } from '../../core/ids.js';
import { explainQuery, openWorkflowsQuery, searchAttributes, taskQueues } from '../../workflows/messages.js';
import { describeWorkflow } from '../describe-workflow.js';
import { rootMessage, tailOf, type HistoryTail } from './history-tail.js';
import type {
  ObservedActivity,
  ObservedEngine,
  ObservedFailing,
  ObservedQueue,
  ObservedTask,
  ObservedWorkflow,
} from './observed.js';

/** Other workflows than the entities that one look describes: those that have run longest. */
const mostOthers = 20;
/** Of which they are chosen. */
const mostListed = 1000;
const describedAtOnce = 8;
/** All requests of one look together. */
const lookMs = 15_000;
/** Queries are answered by a worker, if there is one. */
const queryMs = 2000;

const { PendingActivityState, PendingWorkflowTaskState, TaskQueueType } = proto.temporal.api.enums.v1;
const queueTypes = {
  workflow: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  activity: TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
} as const;

/** Workflows that wait for weeks by nature. */
const timers = ['rotateExpired', 'measureSavings'];

/** What Temporal tells of the cluster's workflows and queues, in a bounded number of requests. Rejects when it does not answer. */
export async function observeEngine(client: Client, cluster: string): Promise<ObservedEngine> {
  return client.connection.withDeadline(Date.now() + lookMs, async () => {
    const entities = [workflowIds.provision(cluster), workflowIds.disrupt(cluster)];
    const others = await otherWorkflows(client, cluster, entities);
    const workflows: ObservedWorkflow[] = [];
    const missing: string[] = [];
    await inBatches(
      [...entities, ...others],
      async (workflowId) => {
        const found = await observeWorkflow(client, workflowId);
        if (found !== undefined) workflows.push(found);
        else if (entities.includes(workflowId)) missing.push(workflowId);
      },
      { atOnce: describedAtOnce },
    );
    return { workflows: workflows.sort(byId), missing, queues: await observeQueues(client, cluster) };
  });
}

const byId = (a: ObservedWorkflow, b: ObservedWorkflow): number => compareText(a.workflowId, b.workflowId);

/** Those that say that they fail, and those that have run longest. */
async function otherWorkflows(client: Client, cluster: string, entities: readonly string[]): Promise<string[]> {
  const open = openWorkflowsQuery(cluster);
  const failing = await listed(client, `${open} AND ${searchAttributes.phase.name} = 'retrying'`, mostOthers);
  const lasting = await listed(
    client,
    `${open} AND ${timers.map((type) => `WorkflowType != '${type}'`).join(' AND ')}`,
  );
  const oldest = lasting.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
  const ids = new Set([...failing, ...oldest.slice(0, mostOthers)].map(({ workflowId }) => workflowId));
  return [...ids].filter((id) => !entities.includes(id));
}

async function listed(client: Client, query: string, most = mostListed): Promise<WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const each of client.workflow.list({ query, pageSize: most })) {
    if (found.push(each) >= most) break;
  }
  return found;
}

/** Undefined when it does not run. */
async function observeWorkflow(client: Client, workflowId: string): Promise<ObservedWorkflow | undefined> {
  const description = await describeWorkflow(client, workflowId);
  if (description?.status.name !== 'RUNNING') return undefined;
  const { raw, runId, type, historyLength, historySize } = description;
  const isFailing =
    (raw.pendingWorkflowTask?.attempt ?? 0) > 1 || raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1);
  const tail = isFailing === true ? await tailOf(client, workflowId, runId) : undefined;
  const task = taskOf(description, tail);
  const failing = task === undefined ? await failingOf(client, description) : undefined;
  return {
    workflowId,
    type,
    historyEvents: historyLength,
    historyBytes: historySize ?? 0,
    activities: (raw.pendingActivities ?? []).map((activity) => activityOf(activity, tail)),
    ...(task === undefined ? {} : { task }),
    ...(failing === undefined ? {} : { failing }),
  };
}

function taskOf({ raw }: WorkflowExecutionDescription, tail: HistoryTail | undefined): ObservedTask | undefined {
  const { pendingWorkflowTask: task } = raw;
  if (task === undefined || task === null) return undefined;
  const { originalScheduledTime, scheduledTime } = task;
  const attempt = task.attempt ?? 1;
  return {
    attempt,
    isStarted: task.state === PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED,
    scheduledAt: optionalTsToMs(originalScheduledTime) ?? optionalTsToMs(scheduledTime) ?? 0,
    ...(attempt > 1 ? tail?.taskFailures : undefined),
  };
}

type RawActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

function activityOf(activity: RawActivity, tail: HistoryTail | undefined): ObservedActivity {
  const { state } = activity;
  const { PENDING_ACTIVITY_STATE_SCHEDULED, PENDING_ACTIVITY_STATE_STARTED } = PendingActivityState;
  const since = tail?.activitiesScheduledAt.get(activity.activityId ?? '');
  const dueAt = state === PENDING_ACTIVITY_STATE_SCHEDULED ? optionalTsToMs(activity.scheduledTime) : undefined;
  const runningSince = state === PENDING_ACTIVITY_STATE_STARTED ? optionalTsToMs(activity.lastStartedTime) : undefined;
  const failure = rootMessage(activity.lastFailure);
  return {
    type: activity.activityType?.name ?? '',
    attempt: activity.attempt ?? 1,
    ...(since === undefined ? {} : { since }),
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(runningSince === undefined ? {} : { runningSince }),
    ...(failure === undefined ? {} : { failure }),
  };
}

/** Entities and whatever is in phase `retrying` say themselves why they fail. */
async function failingOf(
  client: Client,
  { workflowId, runId, type, typedSearchAttributes }: WorkflowExecutionDescription,
): Promise<ObservedFailing | undefined> {
  const asked = type === 'provision' || type === 'disrupt' || type === 'keepReplicas';
  if (!asked && typedSearchAttributes.get(searchAttributes.phase) !== 'retrying') return undefined;
  try {
    const { failing } = await client.connection.withDeadline(Date.now() + queryMs, () =>
      client.workflow.getHandle(workflowId, runId).query(explainQuery),
    );
    return failing === undefined ? undefined : { since: Date.parse(failing.since), why: failing.why };
  } catch {
    return undefined;
  }
}

/** Who polls the cluster's task queues, and what waits in them. */
export async function observeQueues(client: Client, cluster: string): Promise<ObservedQueue[]> {
  const { control, ...activities } = taskQueues(cluster);
  return Promise.all([
    observeQueue(client, control, 'workflow'),
    ...[control, ...Object.values(activities)].map((name) => observeQueue(client, name, 'activity')),
  ]);
}

async function observeQueue(client: Client, name: string, tasks: ObservedQueue['tasks']): Promise<ObservedQueue> {
  const { namespace } = client.options;
  const { pollers, stats } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType: queueTypes[tasks],
    reportStats: true,
  });
  const polls = pollers.flatMap(({ lastAccessTime }) => optionalTsToMs(lastAccessTime) ?? []);
  const age = stats?.approximateBacklogAge;
  return {
    name,
    tasks,
    backlog: Number(stats?.approximateBacklogCount ?? 0),
    backlogAgeMs: Number(age?.seconds ?? 0) * 1000,
    ...(polls.length === 0 ? {} : { polledAt: Math.max(...polls) }),
  };
}

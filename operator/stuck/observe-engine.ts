import proto from '@temporalio/proto';
import type { Client, WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import { millisecondsOf } from '../../core/time.js';
import { inBatches } from '../../core/at-once.js';
import { compareText } from '../../core/text.js';
import { failures } from '../../core/failures.js';
import { workflowIds } from '../../core/ids.js';
import {
  explainQuery,
  leftOutMemo,
  openWorkflowsQuery,
  searchAttributes,
  taskQueues,
  quotedForQuery,
} from '../../workflows/messages.js';
import { describeWorkflow } from '../describe-workflow.js';
import { foreignIn, type ForeignWorkflow } from '../foreign-workflow.js';
import { rootMessage, tailOf, type HistoryTail } from './history-tail.js';
import type {
  ObservedActivity,
  ObservedEngine,
  ObservedQueue,
  ObservedTask,
  ObservedWorkflow,
  ObservedFailure,
} from './observed.js';

/** Maximum number of non-entity workflows of each kind described per poll. */
const mostOthers = 20;
/** Number of workflows checked in rotation if the server itself reports workflow task failures. */
const fewInTurn = 4;
/** Number of workflows from which they are chosen. */
const mostListed = 1000;
/** This many failed requests count as an outage. */
const mostFailures = 5;
const describedAtOnce = 8;
/** Timeout of all requests of one poll. */
const deadlineMs = 15_000;
/** Timeout of a query. */
const queryMs = 2000;

const { PendingActivityState, PendingWorkflowTaskState, TaskQueueType, WorkerVersioningMode } =
  proto.temporal.api.enums.v1;
const { WORKER_VERSIONING_MODE_VERSIONED: VERSIONED } = WorkerVersioningMode;
const queueTypes = {
  workflow: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  activity: TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
} as const;

/** Workflows that normally wait for weeks. */
const timers = ['expireNode', 'measureSavings'];

/** State between polls. */
interface ObservationMemory {
  /** Number of polls so far. */
  turn: number;
  /** Workflows that were failing: they are checked until they are not. */
  failing: readonly string[];
  /** Query results by run and history length: without new events the result is the same. */
  said: ReadonlyMap<string, Explained>;
}

/** The result of querying a workflow. */
type Explained = Pick<ObservedWorkflow, 'failing'>;

export const noMemory = (): ObservationMemory => ({ turn: 0, failing: [], said: new Map() });

/**
 * Reads the cluster's workflows and queues from Temporal with a bounded number of requests. With `memory` every open
 * workflow is checked in rotation. Rejects if Temporal does not respond.
 */
export async function observeEngine(
  client: Client,
  cluster: string,
  memory: ObservationMemory = noMemory(),
): Promise<ObservedEngine> {
  return client.connection.withDeadline(Date.now() + deadlineMs, async () => {
    const entities = [workflowIds.provision(cluster), workflowIds.disrupt(cluster)];
    const others = await otherWorkflows(client, cluster, memory);
    const workflows: ObservedWorkflow[] = [];
    const missing: string[] = [];
    const foreign: ForeignWorkflow[] = [];
    const failures: unknown[] = [];
    const said = new Map<string, Explained>();
    await inBatches(
      [...entities, ...others.filter((id) => !entities.includes(id))],
      async (workflowId) => {
        try {
          const description = await describeWorkflow(client, workflowId);
          const other = foreignIn(description, cluster);
          if (other !== undefined) foreign.push(other);
          else if (description?.status.name === 'RUNNING')
            workflows.push(await observeWorkflow(client, description, { before: memory.said, now: said }));
          else if (entities.includes(workflowId)) missing.push(workflowId);
        } catch (error) {
          failures.push(error);
        }
      },
      { atOnce: describedAtOnce, enough: () => failures.length >= mostFailures },
    );
    // An unreadable workflow does not hide others; a server that does not respond gives no observation.
    if (failures.length >= mostFailures || workflows.length + missing.length + foreign.length === 0)
      throwFirst(failures);
    memory.turn += 1;
    memory.said = said;
    memory.failing = workflows.filter(isFailing).map(({ workflowId }) => workflowId).slice(0, mostOthers); // prettier-ignore
    const [queues, failed] = await Promise.all([
      observeQueues(client, cluster),
      observeFailed(client, cluster, Date.now()),
    ]);
    return { workflows: workflows.sort(byId), missing, foreign, queues, failed };
  });
}

function throwFirst(failures: readonly unknown[]): void {
  if (failures.length > 0) throw failures[0];
}

const isFailing = ({ task, failing, activities }: ObservedWorkflow): boolean =>
  (task?.attempt ?? 1) > 1 || failing !== undefined || activities.some(({ failure }) => failure !== undefined);

const byId = (a: ObservedWorkflow, b: ObservedWorkflow): number => compareText(a.workflowId, b.workflowId);

/** Workflows whose task failures Temporal reports; servers before 1.30 do not. */
const reported = "TemporalReportedProblems IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')";

/**
 * Workflows that fail according to their phase or to Temporal, the oldest ones, those that were failing, and some of
 * all others in rotation: a workflow whose tasks fail may be new and cannot report it.
 */
async function otherWorkflows(
  client: Client,
  cluster: string,
  { turn, failing }: ObservationMemory,
): Promise<string[]> {
  const open = openWorkflowsQuery(cluster);
  const retrying = await listed(client, `${open} AND ${searchAttributes.phase.name} = 'retrying'`, mostOthers);
  const stopped = await listed(client, `${open} AND ${reported}`, mostOthers).catch(() => undefined);
  const all = await listed(client, open);
  const lasting = all.filter(({ type }) => !timers.includes(type));
  return chosen({
    failing: [...failing, ...[...retrying, ...(stopped ?? [])].map(({ workflowId }) => workflowId)],
    oldest: byAge(lasting),
    all: byAge(all),
    turn,
    mostInTurn: stopped === undefined ? mostOthers : fewInTurn,
  });
}

const byAge = (infos: readonly WorkflowExecutionInfo[]): string[] =>
  [...infos].sort((a, b) => a.startTime.getTime() - b.startTime.getTime()).map(({ workflowId }) => workflowId);

/** Ids to describe in one poll, with rotation through `all`. */
export function chosen(known: {
  readonly failing: readonly string[];
  readonly oldest: readonly string[];
  readonly all: readonly string[];
  readonly turn: number;
  readonly mostInTurn: number;
}): string[] {
  const { failing, oldest, all, turn, mostInTurn } = known;
  const from = all.length === 0 ? 0 : (turn * mostInTurn) % all.length;
  const inTurn = [...all.slice(from), ...all.slice(0, from)].slice(0, mostInTurn);
  return [...new Set([...failing, ...oldest.slice(0, mostOthers), ...inTurn])];
}

async function listed(client: Client, query: string, most = mostListed): Promise<WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const each of client.workflow.list({ query, pageSize: most })) {
    if (found.push(each) >= most) break;
  }
  return found;
}

/** Query results of the previous poll and of this one. */
interface Explanations {
  readonly before: ReadonlyMap<string, Explained>;
  readonly now: Map<string, Explained>;
}

async function observeWorkflow(
  client: Client,
  description: WorkflowExecutionDescription,
  explanations: Explanations,
): Promise<ObservedWorkflow> {
  const { raw, workflowId, runId, type, historyLength, historySize } = description;
  const hasFailed =
    (raw.pendingWorkflowTask?.attempt ?? 0) > 1 ||
    raw.pendingActivities?.some((one) => (one.attempt ?? 0) > 1 && !isWaiting(one));
  const tail = hasFailed === true ? await tailOf(client, workflowId, runId) : undefined;
  const task = taskOf(description, tail);
  const said = task === undefined ? await reportedBy(client, description, explanations) : {};
  return {
    workflowId,
    type,
    historyEvents: historyLength,
    historyBytes: historySize ?? 0,
    activities: (raw.pendingActivities ?? []).map((activity) => activityOf(activity, tail)),
    ...(task === undefined ? {} : { task }),
    ...said,
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
    scheduledAt: millisecondsOf(originalScheduledTime) ?? millisecondsOf(scheduledTime) ?? 0,
    ...(attempt > 1 ? tail?.taskFailures : undefined),
  };
}

/** The last attempt did not fail: it found that it has to wait. */
const isWaiting = ({ lastFailure }: RawActivity): boolean =>
  lastFailure?.applicationFailureInfo?.type === failures.waiting.type;

type RawActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

function activityOf(activity: RawActivity, tail: HistoryTail | undefined): ObservedActivity {
  const { state } = activity;
  const { PENDING_ACTIVITY_STATE_SCHEDULED, PENDING_ACTIVITY_STATE_STARTED } = PendingActivityState;
  const since = tail?.activitiesScheduledAt.get(activity.activityId ?? '');
  const dueAt = state === PENDING_ACTIVITY_STATE_SCHEDULED ? millisecondsOf(activity.scheduledTime) : undefined;
  const runningSince = state === PENDING_ACTIVITY_STATE_STARTED ? millisecondsOf(activity.lastStartedTime) : undefined;
  const failure = isWaiting(activity) ? undefined : rootMessage(activity.lastFailure);
  return {
    type: activity.activityType?.name ?? '',
    attempt: activity.attempt ?? 1,
    ...(since === undefined ? {} : { since }),
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(runningSince === undefined ? {} : { runningSince }),
    ...(failure === undefined ? {} : { failure }),
  };
}

/**
 * Workflows in phase `retrying` are queried for why they fail. The result depends on the history: while it has not
 * grown the workflow is not queried again, since each query is a billable action of Temporal Cloud. Excluded objects of
 * planning are in the memo.
 */
async function reportedBy(
  client: Client,
  { workflowId, runId, historyLength, typedSearchAttributes, memo }: WorkflowExecutionDescription,
  { before, now }: Explanations,
): Promise<Pick<ObservedWorkflow, 'failing' | 'leftOut'>> {
  const leftOut = memo?.[leftOutMemo];
  const own = typeof leftOut === 'string' && leftOut !== '' ? { leftOut } : {};
  if (typedSearchAttributes.get(searchAttributes.phase) !== 'retrying') return own;
  const key = `${workflowId} ${runId} ${historyLength}`;
  try {
    const said = before.get(key) ?? (await askedOf(client, workflowId, runId));
    now.set(key, said);
    return { ...own, ...said };
  } catch {
    return own;
  }
}

async function askedOf(client: Client, workflowId: string, runId: string): Promise<Explained> {
  const { failing } = await client.connection.withDeadline(Date.now() + queryMs, () =>
    client.workflow.getHandle(workflowId, runId).query(explainQuery),
  );
  return failing === undefined ? {} : { failing: { since: Date.parse(failing.since), why: failing.why } };
}

/** The pollers and backlog of the cluster's task queues. */
export async function observeQueues(client: Client, cluster: string): Promise<ObservedQueue[]> {
  const { control, ...activities } = taskQueues(cluster);
  return Promise.all([
    // The queues on which `startOptions` starts workflows.
    ...[control, activities.urgent].map((name) => observeQueue(client, name, 'workflow')),
    ...[control, ...Object.values(activities)].map((name) => observeQueue(client, name, 'activity')),
  ]);
}

export async function observeQueue(
  client: Client,
  name: string,
  tasks: ObservedQueue['tasks'],
): Promise<ObservedQueue> {
  const { namespace } = client.options;
  const { pollers, stats, versioningInfo } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType: queueTypes[tasks],
    reportStats: true,
  });
  const { buildId, deploymentName } = versioningInfo?.currentDeploymentVersion ?? {};
  const current = buildId ?? '';
  const versioned = pollers.filter(({ deploymentOptions: of }) => of?.workerVersioningMode === VERSIONED);
  const ofCurrent =
    current === ''
      ? pollers.filter((each) => !versioned.includes(each))
      : versioned.filter(
          ({ deploymentOptions: of }) => of?.deploymentName === deploymentName && of?.buildId === current,
        );
  const polls = ofCurrent.flatMap(({ lastAccessTime }) => millisecondsOf(lastAccessTime) ?? []);
  const age = stats?.approximateBacklogAge;
  return {
    name,
    tasks,
    backlog: Number(stats?.approximateBacklogCount ?? 0),
    backlogAgeMs: Number(age?.seconds ?? 0) * 1000,
    ...(polls.length === 0 ? {} : { polledAt: Math.max(...polls) }),
    ...(versioned.length === 0 && current === '' ? {} : { build: current }),
  };
}

/**
 * How long a failure is reported. Required workflows are restarted within two minutes, so persistent failures are
 * always reported.
 */
const freshMs = 3 * 60_000;
/** A run that has lasted this long counts as recovered. */
const settledMs = 30_000;
const mostFailed = 20;
const mostFailing = 200;
const readAtOnce = 8;

/**
 * Workflows whose last run failed recently. Most have no parent that reports the failure, and required ones are
 * restarted and fail again, so no open workflow shows it.
 */
export async function observeFailed(client: Client, cluster: string, now: number): Promise<ObservedFailure[]> {
  const runs = await failedRuns(client, cluster, now);
  const byWorkflow = new Map<string, WorkflowExecutionInfo[]>();
  for (const run of runs) byWorkflow.set(run.workflowId, [...(byWorkflow.get(run.workflowId) ?? []), run]);
  const found: ObservedFailure[] = [];
  await inBatches(
    [...byWorkflow].slice(0, mostFailed),
    async ([workflowId, failed]) => {
      try {
        if (await hasGoneOn(client, workflowId, now)) return;
        const [first, last] = ends(failed);
        const { failure } = await tailOf(client, workflowId, last.runId);
        found.push({ workflowId, since: closedAt(first), runs: failed.length, why: failure ?? 'no reason is given' });
      } catch {
        // Unreadable ones do not hide others; the next poll reads them again.
      }
    },
    { atOnce: readAtOnce },
  );
  return found.sort((a, b) => compareText(a.workflowId, b.workflowId));
}

async function failedRuns(client: Client, cluster: string, now: number): Promise<WorkflowExecutionInfo[]> {
  const after = new Date(now - freshMs).toISOString();
  const query = `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ExecutionStatus = 'Failed' AND CloseTime > '${after}'`;
  const found: WorkflowExecutionInfo[] = [];
  for await (const each of client.workflow.list({ query, pageSize: mostFailing })) {
    if (found.push(each) >= mostFailing) break;
  }
  return found;
}

/** Whether a later run succeeded, or is running. */
async function hasGoneOn(client: Client, workflowId: string, now: number): Promise<boolean> {
  const latest = await describeWorkflow(client, workflowId);
  if (latest === undefined) return true;
  const { status, startTime } = latest;
  return status.name === 'RUNNING' ? now - startTime.getTime() >= settledMs : status.name !== 'FAILED';
}

const closedAt = ({ closeTime, startTime }: WorkflowExecutionInfo): number => (closeTime ?? startTime).getTime();

function ends(runs: readonly WorkflowExecutionInfo[]): readonly [WorkflowExecutionInfo, WorkflowExecutionInfo] {
  const sorted = [...runs].sort((a, b) => closedAt(a) - closedAt(b));
  return [sorted[0]!, sorted.at(-1)!];
}

import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { History } from '@temporalio/worker';
import type { WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, GracefulShutdownPeriodExpiredError, Runtime, Worker } from '@temporalio/worker';
import { ensureToolchain } from '../../tools/stack/toolchain.js';
import { startOptions, searchAttributes, taskQueues } from '../../workflows/messages.js';
import type { TaskQueue } from '../../workflows/messages.js';
import { addSearchAttributes } from '../../process/search-attributes.js';
import { keepHistory, writeCounts } from '../replay/history-folder.mjs';
import { testBundle } from './bundle.js';
import { Clock } from './clock.js';
import { isThere, isTried, nextAttemptOf, nextTimerOf } from './due.js';
import { cluster, startLaunches } from './rig.js';
import type { ClaimsCreated, CreateClaimsInput } from '../../activities/provisioning/contract.js';
import type { RigActivities, RigOptions, WorkflowRig } from './rig.js';

const patienceMs = 60_000;
/** Longer than a worker takes to stop, shorter than any regular look of a workflow. */
const quietMs = 3000;
/** Less than the shortest pause between two looks of a workflow, and time enough to send something. */
const restMs = 600;

/** The rig on the time-skipping Temporal server of the project, with real workers. */
export class ServerRig implements WorkflowRig {
  private seen: { readonly workflowId: string; readonly runId?: string }[] = [];
  private workers: { name: TaskQueue; worker: Worker; running: Promise<void> }[] = [];
  private activities: RigActivities = {};
  private clock: Clock | undefined;
  /** Activities that a worker has in its hands. */
  private inHand = 0;

  private constructor(
    private server: TestWorkflowEnvironment,
    private readonly workflowBundle: { readonly code: string },
    private readonly names: readonly string[],
    private readonly forgetful: boolean,
  ) {}

  static async start(names: readonly string[], { forgetful = false }: RigOptions = {}): Promise<ServerRig> {
    quieten();
    const rig = new ServerRig(await startServer(), await testBundle(), names, forgetful);
    rig.watchClock();
    await rig.startWorkers();
    return rig;
  }

  get env(): TestWorkflowEnvironment {
    return this.server;
  }

  /**
   * Only where nothing is cached: this server never gives up on the sticky queue of a worker that is gone. Time would never be
   * skipped again for an activity whose worker is gone.
   */
  async replaceWorkers({ settled = true } = {}): Promise<void> {
    await this.settle({ retried: !settled });
    await this.stopWorkers();
    await this.startWorkers();
  }

  private async startWorkers(): Promise<void> {
    for (const name of Object.keys(taskQueues(cluster)) as TaskQueue[]) await this.startWorker(name);
  }

  private async startWorker(name: TaskQueue): Promise<void> {
    const activities = Object.fromEntries(
      this.names.map((activity) => [activity, async (input: unknown) => this.tried(activity, input)]),
    );
    const worker = await Worker.create({
      connection: this.env.nativeConnection,
      taskQueue: taskQueues(cluster)[name],
      activities,
      shutdownGraceTime: '100 ms',
      shutdownForceTime: '2 seconds',
      ...(this.forgetful ? { maxCachedWorkflows: 0 } : {}),
      ...(name === 'control' || name === 'urgent' ? { workflowBundle: this.workflowBundle } : {}),
    });
    this.workers.push({ name, worker, running: worker.run() });
  }

  async withoutWorker<T>(name: TaskQueue, work: () => Promise<T>): Promise<T> {
    const stopped = this.workers.filter((one) => one.name === name);
    this.workers = this.workers.filter((one) => one.name !== name);
    for (const { worker } of stopped) worker.shutdown();
    await Promise.all(stopped.map(({ running }) => running));
    try {
      return await work();
    } finally {
      await this.startWorker(name);
    }
  }

  private async tried(name: string, input: unknown): Promise<unknown> {
    this.inHand++;
    try {
      const answer = await this.activities[name]!(input);
      if (name === 'createClaims') await startLaunches(this, input as CreateClaimsInput, answer as ClaimsCreated);
      return answer;
    } finally {
      this.inHand--;
    }
  }

  private async stopWorkers(): Promise<void> {
    const { workers } = this;
    this.workers = [];
    for (const { worker } of workers) worker.shutdown();
    const ends = await Promise.allSettled(workers.map(({ running }) => running));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Before the server goes away. An activity that a test still holds, or a crowded machine, keeps a worker from stopping in time. */
  private async abandonWorkers(): Promise<void> {
    await this.stopWorkers().catch((error: unknown) => {
      if (!(error instanceof GracefulShutdownPeriodExpiredError)) throw error;
    });
  }

  use(activities: RigActivities): void {
    this.activities = activities;
  }

  get client(): TestWorkflowEnvironment['client'] {
    return this.env.client;
  }

  async start(type: string, workflowId: string, ...args: unknown[]): Promise<WorkflowHandle> {
    const handle = await this.client.workflow.start(type, {
      ...startOptions(type, { cluster, ...(args[0] as object) }, { namespace: 'default' }),
      workflowId,
      args,
    });
    this.seen.push({ workflowId, runId: handle.firstExecutionRunId });
    return handle;
  }

  track(workflowId: string, runId: string): void {
    this.seen.push({ workflowId, runId });
  }

  async now(): Promise<number> {
    return this.env.currentTimeMs();
  }

  async sleep(duration: string | number): Promise<void> {
    await this.env.sleep(duration as Parameters<TestWorkflowEnvironment['sleep']>[0]);
  }

  async until<T>(probe: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
    const end = Date.now() + patienceMs;
    for (;;) {
      const found = await probe();
      if (found !== undefined && found !== false) return found;
      if (Date.now() >= end) throw new Error('waited in vain');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async finish(): Promise<void> {
    try {
      await this.settle({ retried: true });
      const histories = await this.histories();
      await this.terminate(histories);
      for await (const result of Worker.runReplayHistories({ workflowBundle: this.workflowBundle }, histories)) {
        if (result.error !== undefined) throw result.error;
      }
      record(histories);
    } finally {
      // The clock runs on between a look at a workflow and its termination: a timer may have fired.
      if ((await this.histories()).some(({ history }) => !isIdle(history))) await this.renewServer();
      this.seen = [];
    }
  }

  private async terminate(workflows: readonly { workflowId: string; closed: boolean }[]): Promise<void> {
    for (const { workflowId, closed } of workflows) {
      if (closed) continue;
      await this.client.workflow
        .getHandle(workflowId)
        .terminate('the test is over')
        .catch(() => undefined);
    }
  }

  /** The server never skips time again after a workflow ended with a task in flight: the next test has a new one. */
  private async renewServer(): Promise<void> {
    await this.close();
    this.server = await startServer();
    this.watchClock();
    await this.startWorkers();
  }

  /** A test that awaits a result or sleeps must not wait for a clock that has stopped by mistake. */
  private watchClock(): void {
    const { env } = this;
    const clock = new Clock(env, async () => this.isAtRest());
    this.clock = clock;
    const { workflow } = env.client;
    const result = workflow.result.bind(workflow);
    workflow.result = async <T>(...args: Parameters<typeof result>) => clock.skipping<T>(result(...args) as Promise<T>);
    const { sleep } = env;
    env.sleep = async (duration) => clock.skipping(sleep(duration));
  }

  /** What cancels an activity is sent then: this server never recovers from a workflow task that cancels one which ends while the task runs. */
  async rest(): Promise<void> {
    await this.settle({ retried: true, marginMs: restMs });
  }

  /** Whether no task is in flight, to a worker or with one: nothing goes on before time does. */
  private async isAtRest(): Promise<boolean> {
    for (const { workflowId, history, closed } of await this.histories()) {
      if (closed) continue;
      const { raw } = await this.client.workflow.getHandle(workflowId).describe();
      if (!isAnswered(history) || (raw.pendingActivities ?? []).some(isTried)) return false;
    }
    return this.inHand === 0;
  }

  /**
   * Waits until no activity and no workflow task is in flight, nor will be in a moment: what is handed to a worker that stops
   * just then is lost, and what is on its way when its workflow ends is waited for by the server for ever. The clock
   * goes on meanwhile, as on a wall. `retried`: activities may wait for their next attempt.
   */
  private async settle({ retried = false, marginMs = quietMs } = {}): Promise<void> {
    for (const { workflowId, closed } of await this.histories()) {
      if (closed) continue;
      const handle = this.client.workflow.getHandle(workflowId);
      await this.until(async () => {
        const { raw } = await handle.describe();
        const history = await handle.fetchHistory();
        if (isClosed(history)) return true;
        const pending = raw.pendingActivities ?? [];
        if ((!retried && pending.length > 0) || pending.some(isTried)) return false;
        const now = await this.now();
        const next = [nextTimerOf(history), ...pending.map(nextAttemptOf)];
        return isAnswered(history) && next.every((at) => at === undefined || at > now + marginMs);
      });
    }
  }

  async close(): Promise<void> {
    await this.clock?.stop();
    await this.abandonWorkers();
    await this.env.teardown();
  }

  private async histories(): Promise<{ workflowId: string; history: History; closed: boolean }[]> {
    const queue = [...this.seen];
    const done = new Set<string>();
    const found: { workflowId: string; history: History; closed: boolean }[] = [];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const key = `${next.workflowId}/${next.runId ?? ''}`;
      if (done.has(key)) continue;
      done.add(key);
      const history = await this.client.workflow.getHandle(next.workflowId, next.runId).fetchHistory();
      found.push({ workflowId: next.workflowId, history, closed: isClosed(history) });
      queue.push(...related(history, next.workflowId));
    }
    return found;
  }
}

/** For test/replay: with RECORD_HISTORIES=VERSION what was played, and has been replayed, is kept. */
function record(histories: readonly { readonly workflowId: string; readonly history: History }[]): void {
  const version = process.env.RECORD_HISTORIES;
  const types = process.env.RECORD_TYPES?.split(',');
  if (version === undefined) return;
  for (const { workflowId, history } of histories) {
    const type = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
    if (types === undefined || types.includes(type)) keepHistory(type, version, structuredClone(history), workflowId);
  }
  writeCounts();
}

const startAttempts = 5;

async function startServer(): Promise<TestWorkflowEnvironment> {
  const path = (await ensureToolchain(['temporal-test-server'])).temporalTestServer!;
  const env = await comeUp(path);
  await addSearchAttributes(env.connection, env.namespace ?? 'default', Object.values(searchAttributes));
  return env;
}

/** The SDK gives the server five seconds to come up, which a busy machine does not always keep to. */
async function comeUp(path: string, attempt = 1): Promise<TestWorkflowEnvironment> {
  try {
    return await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path } },
    });
  } catch (error) {
    if (attempt >= startAttempts || !String(error).includes('did not start within')) throw error;
    return comeUp(path, attempt + 1);
  }
}

/**
 * Whether neither a workflow task nor an activity waits for its answer, nor does the server for one: what was cancelled between
 * two attempts counts there as in flight for ever, though the history says that it ended.
 */
const isIdle = (history: History): boolean =>
  isAnswered(history) && unansweredActivities(history.events ?? []) === 0 && !wasCancelled(history.events ?? []);

const wasCancelled = (events: NonNullable<History['events']>): boolean =>
  events.some((event) => isThere(event.activityTaskCancelRequestedEventAttributes));

/** Whether no workflow task waits for its answer. */
function isAnswered({ events }: History): boolean {
  const last = events?.findLast(
    ({ workflowTaskScheduledEventAttributes: scheduled, workflowTaskCompletedEventAttributes: completed }) =>
      isThere(scheduled) || isThere(completed),
  );
  return isThere(last?.workflowTaskCompletedEventAttributes);
}

function unansweredActivities(events: NonNullable<History['events']>): number {
  const count = (kind: keyof (typeof events)[number]): number => events.filter((event) => isThere(event[kind])).length;
  return (
    count('activityTaskScheduledEventAttributes') -
    count('activityTaskCompletedEventAttributes') -
    count('activityTaskFailedEventAttributes') -
    count('activityTaskTimedOutEventAttributes') -
    count('activityTaskCanceledEventAttributes')
  );
}

function isClosed({ events }: History): boolean {
  const last = events?.at(-1);
  return [
    last?.workflowExecutionCompletedEventAttributes,
    last?.workflowExecutionFailedEventAttributes,
    last?.workflowExecutionCanceledEventAttributes,
    last?.workflowExecutionContinuedAsNewEventAttributes,
    last?.workflowExecutionTerminatedEventAttributes,
  ].some(isThere);
}

/** Children that were started, and the runs before and after. */
function related(history: History, own: string): { workflowId: string; runId?: string }[] {
  return (history.events ?? []).flatMap((event) => {
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    const first = event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    const last = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    return [
      ...(child?.workflowId && child.runId ? [{ workflowId: child.workflowId, runId: child.runId }] : []),
      ...(first ? [{ workflowId: own, runId: first }] : []),
      ...(last ? [{ workflowId: own, runId: last }] : []),
    ];
  });
}

let isQuiet = false;

/** This server lacks what newer servers have, which each worker would warn of. */
function quieten(): void {
  if (isQuiet) return;
  isQuiet = true;
  const logging = { console: {}, filter: { core: 'ERROR', other: 'ERROR' } } as const;
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging } });
}

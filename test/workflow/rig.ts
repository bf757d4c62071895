import { jest } from '@jest/globals';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { ensureToolchain } from '../../devstack/toolchain.js';
import { searchAttributes, taskQueues } from '../../workflows/messages.js';
import { addSearchAttributes } from '../../worker/search-attributes.js';

export const cluster = 'test';

const patienceMs = 20_000;
jest.setTimeout(60_000);

/** Activities by queue; every name that a workflow calls must be there. */
export interface QueueActivities {
  readonly control: object;
  readonly packing: object;
  readonly cloud: object;
  readonly drain: object;
}

/**
 * A time-skipping Temporal server with workers on every task queue of a cluster. On `close` the history of every workflow
 * that ran, children and continued runs included, is replayed: a workflow that is not deterministic fails its test.
 */
export class WorkflowRig {
  private static bundle: Promise<WorkflowBundleWithSourceMap> | undefined;
  private readonly seen = new Set<string>();

  private constructor(
    readonly env: TestWorkflowEnvironment,
    private readonly workflowBundle: WorkflowBundleWithSourceMap,
    private readonly workers: readonly { worker: Worker; running: Promise<void> }[],
  ) {}

  static async start(activities: QueueActivities): Promise<WorkflowRig> {
    const path = (await ensureToolchain(['temporal-test-server'])).temporalTestServer!;
    WorkflowRig.bundle ??= installQuietly();
    const bundle = await WorkflowRig.bundle;
    const env = await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path } },
    });
    await addSearchAttributes(env.connection, env.namespace ?? 'default', Object.values(searchAttributes));
    const queues = taskQueues(cluster);
    const workers = await Promise.all(
      (Object.keys(queues) as (keyof typeof queues)[]).map(async (name) => {
        const worker = await Worker.create({
          connection: env.nativeConnection,
          taskQueue: queues[name],
          activities: activities[name],
          shutdownGraceTime: '100 ms',
          shutdownForceTime: '2 seconds',
          ...(name === 'control' ? { workflowBundle: bundle } : {}),
        });
        return { worker, running: worker.run() };
      }),
    );
    return new WorkflowRig(env, bundle, workers);
  }

  get client(): TestWorkflowEnvironment['client'] {
    return this.env.client;
  }

  /** Starts a workflow on the control queue. */
  async start<Args extends unknown[]>(type: string, workflowId: string, ...args: Args): Promise<WorkflowHandle> {
    this.seen.add(workflowId);
    return this.client.workflow.start(type, { taskQueue: taskQueues(cluster).control, workflowId, args });
  }

  /** Milliseconds of the epoch by the server's clock, which skips. */
  async now(): Promise<number> {
    return this.env.currentTimeMs();
  }

  /** How long a closed workflow took by its own clock, milliseconds. */
  async durationOf(handle: WorkflowHandle): Promise<number> {
    const { startTime, closeTime } = await handle.describe();
    return (closeTime?.getTime() ?? Number.NaN) - startTime.getTime();
  }

  /** Asks `probe` until it gives a value, while the server's clock stands: nothing is skipped meanwhile. */
  async until<T>(probe: () => Promise<T | undefined> | T | undefined): Promise<T> {
    const end = Date.now() + patienceMs;
    for (;;) {
      const found = await probe();
      if (found !== undefined && found !== false) return found;
      if (Date.now() >= end) throw new Error('waited in vain');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Replays all histories, then stops everything. */
  async close(): Promise<void> {
    try {
      for (const { worker } of this.workers) worker.shutdown();
      await Promise.all(this.workers.map(({ running }) => running));
      await this.replayAll();
    } finally {
      await this.env.teardown();
    }
  }

  private async replayAll(): Promise<void> {
    const queue: { workflowId: string; runId?: string }[] = [...this.seen].map((workflowId) => ({ workflowId }));
    const done = new Set<string>();
    const histories: { workflowId: string; history: History }[] = [];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const key = `${next.workflowId}/${next.runId ?? ''}`;
      if (done.has(key)) continue;
      done.add(key);
      const history = await this.historyOf(next.workflowId, next.runId);
      if (history === undefined) continue;
      histories.push({ workflowId: next.workflowId, history });
      queue.push(...related(history, next.workflowId));
    }
    for await (const result of Worker.runReplayHistories({ workflowBundle: this.workflowBundle }, histories)) {
      if (result.error !== undefined) throw result.error;
    }
  }

  private async historyOf(workflowId: string, runId?: string): Promise<History | undefined> {
    try {
      return await this.client.workflow.getHandle(workflowId, runId).fetchHistory();
    } catch {
      return undefined;
    }
  }
}

/** Children that were started, and the runs before and after. */
function related(history: History, own: string): { workflowId: string; runId?: string }[] {
  return (history.events ?? []).flatMap((event) => {
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    const first = event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    const last = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    return [
      ...(child?.workflowId ? [{ workflowId: child.workflowId }] : []),
      ...(first ? [{ workflowId: own, runId: first }] : []),
      ...(last ? [{ workflowId: own, runId: last }] : []),
    ];
  });
}

async function installQuietly(): Promise<WorkflowBundleWithSourceMap> {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    logger,
  });
}

import { messageOf } from '../core/error-message.js';
import { setTimeout as delay } from 'node:timers/promises';
import {
  DefaultLogger,
  makeTelemetryFilterString,
  Runtime,
  Worker,
  type ActivityInterceptorsFactory,
  type InjectedSinks,
  type WorkerOptions,
} from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import type { OpenTelemetrySinks } from '@temporalio/interceptors-opentelemetry';
import type { Logger } from 'pino';
import { createActivities } from '../activities/index.js';
import { taskQueues, type TaskQueue } from '../workflows/messages.js';
import { workflowBundle } from './bundle.js';
import type { WorkerConnections } from './connections.js';
import { logInterceptor } from './log-context.js';
import { withUrgency } from './urgency.js';
import type { ActivityDeps } from '../activities/deps.js';
import type { Metrics } from '../core/telemetry.js';

const restartMs = 5000;

/**
 * How long a workflow may compute in one activation; the SDK has this option, and its type leaves it out. Its watchdog counts the time that passes while the
 * process is stopped or starved, too, and where it ends a microtask Node aborts the process (nodejs/node#38503): after five seconds by default.
 * Workflows here compute for milliseconds. The limit is for endless loops alone.
 */
const activationLimit = { isolateExecutionTimeout: '5 minutes' };

/** Workflows that were told of a trace go on telling: also a process that exports none. */
const unheard: InjectedSinks<OpenTelemetrySinks> = { exporter: { export: { fn: () => undefined } } };

/** What each queue may do at once. No activity waits for the world, so that a slot is free again within seconds. */
const limits: Readonly<Record<TaskQueue, Partial<WorkerOptions>>> = {
  control: { maxConcurrentActivityTaskExecutions: 100, maxCachedWorkflows: 1000 },
  packing: { maxConcurrentActivityTaskExecutions: 2 },
  cloud: { maxConcurrentActivityTaskExecutions: 100 },
  drain: { maxConcurrentActivityTaskExecutions: 100 },
  urgent: { maxConcurrentActivityTaskExecutions: 200, maxCachedWorkflows: 2000 },
};

/** Where a client's own limit makes requests wait, those of these go first. */
const pressing: ReadonlySet<TaskQueue> = new Set(['drain', 'urgent']);
/** These run workflows besides. */
const withWorkflows: ReadonlySet<TaskQueue> = new Set(['control', 'urgent']);

/** Sends the SDK's own log into ours, and has it export its metrics there. Once for a process, before any connection. */
export function installRuntime(log: Logger, metricsAddress: string): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Most queues serve activities alone.
      if (message.startsWith('No workflows registered')) return;
      log[level === 'ERROR' ? 'error' : 'warn'](plain(meta), message);
    }),
    // The core tells of every failed poll; `watchTemporal` says once that the server is away.
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }), forward: {} },
      // Named as Prometheus would have it.
      metrics: {
        attachServiceName: false,
        prometheus: {
          bindAddress: metricsAddress,
          countersTotalSuffix: true,
          unitSuffix: true,
          useSecondsForDurations: true,
        },
      },
    },
    shutdownSignals: [],
  });
}

function plain(meta: Record<string, unknown> | undefined): Record<string, unknown> {
  const { workflowId, activityType, error } = meta ?? {};
  return {
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(activityType === undefined ? {} : { activityType }),
    ...(error instanceof Error ? { error: error.message } : {}),
  };
}

/** The settings of the process that workers read, by the names of their variables. */
interface WorkerSettings {
  readonly TEMPORAL_NAMESPACE: string;
  readonly CLOUD_CALLS_PER_SECOND: number;
}

/** What workers need of their process. */
export interface WorkerWorld extends ActivityDeps {
  readonly settings: WorkerSettings;
  readonly identity: string;
}

/** What traces of activities and workflows take. */
export interface WorkerTracing {
  readonly activity: ActivityInterceptorsFactory;
  /** Where workflows hand over their spans. */
  readonly sinks: InjectedSinks<OpenTelemetrySinks>;
}

/** How workers of this process read and write payloads, whether they trace, and which build they are. */
export interface WorkerExtras {
  readonly dataConverter?: DataConverter;
  readonly tracing?: WorkerTracing | undefined;
  /** Absent where workers have no version. */
  readonly buildId?: string | undefined;
}

/** Hears of the workers of this process by their queues. */
export interface WorkerWatch {
  runs(queue: string): void;
  fails(queue: string): void;
}

/** Runs a worker on every task queue until `signal` aborts; one that fails is started again. */
export async function runWorkers(
  world: WorkerWorld,
  connections: WorkerConnections,
  signal: AbortSignal,
  watch: WorkerWatch,
  extras: WorkerExtras = {},
): Promise<void> {
  const optionsOf = workerOptions(world, await workflowBundle(), extras);
  const queues = Object.keys(taskQueues(world.cluster)) as TaskQueue[];
  await Promise.all(queues.map((name) => keepRunning(world, name, optionsOf(name), { connections, signal, watch })));
}

/** What the worker of each task queue is made with, but for its connection. */
export function workerOptions(
  world: WorkerWorld,
  bundle: WorkerOptions['workflowBundle'],
  { dataConverter = {}, tracing, buildId }: WorkerExtras,
): (name: TaskQueue) => WorkerOptions {
  const activities = createActivities(world);
  const queues = taskQueues(world.cluster);
  return (name) => ({
    namespace: world.settings.TEMPORAL_NAMESPACE,
    taskQueue: queues[name],
    identity: `${world.identity}@${name}`,
    dataConverter,
    activities: pressing.has(name) ? withUrgency(activities[name]) : activities[name],
    interceptors: { activity: [...(tracing ? [tracing.activity] : []), logInterceptor, measuring(world.metrics)] },
    sinks: tracing?.sinks ?? unheard,
    shutdownGraceTime: '2 seconds',
    shutdownForceTime: '5 seconds',
    ...activationLimit,
    ...(withWorkflows.has(name) ? { workflowBundle: bundle } : {}),
    ...(name === 'cloud' && world.cloud.isMetered !== false
      ? { maxTaskQueueActivitiesPerSecond: world.settings.CLOUD_CALLS_PER_SECOND }
      : {}),
    ...limits[name],
    ...versioning(world.cluster, buildId),
  });
}

/** The workers of a cluster, as Temporal's worker versioning names them. */
export const deploymentName = (cluster: string): string => `stowage-${cluster}`;

/**
 * No workflow stays on a build: one that is pinned to a build without workers stands still (settings/worker-versions).
 *
 * @testOnly
 */
export function versioning(cluster: string, buildId: string | undefined): Partial<WorkerOptions> {
  if (buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: deploymentName(cluster), buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

async function keepRunning(
  world: WorkerWorld,
  name: TaskQueue,
  options: WorkerOptions,
  { connections, signal, watch }: { connections: WorkerConnections; signal: AbortSignal; watch: WorkerWatch },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const worker = await Worker.create({ ...options, connection: connections.connection });
      const stop = (): void => {
        if (worker.getState() === 'RUNNING') worker.shutdown();
      };
      const running = worker.run();
      connections.join(worker);
      signal.addEventListener('abort', stop, { once: true });
      // Told to end while the worker was being made: nobody tells it again.
      if (isOver(signal)) stop();
      watch.runs(name);
      await running.finally(() => connections.leave(worker));
      signal.removeEventListener('abort', stop);
    } catch (error) {
      if (isOver(signal)) return;
      watch.fails(name);
      world.log.error({ queue: name, error: messageOf(error) }, 'a worker failed, starting it again');
      await delay(restartMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Asked anew after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * Measures activities as controller-runtime measures reconciliations, so that the panels of Karpenter's dashboards show how long each
 * takes, how often it is done and how often it fails (metrics/reconciliations). `clock` gives milliseconds.
 */
export const measuring =
  (metrics: Metrics, clock: () => number = () => performance.now()): ActivityInterceptorsFactory =>
  ({ info: { activityType: controller } }) => ({
    inbound: {
      execute: async (input, next) => {
        const beganAt = clock();
        let result = 'error';
        try {
          const value = await next(input);
          result = 'success';
          return value;
        } finally {
          metrics.count('controller_runtime_reconcile_total', { controller, result });
          if (result === 'error') metrics.count('controller_runtime_reconcile_errors_total', { controller });
          metrics.observe('controller_runtime_reconcile_time_seconds', { controller }, (clock() - beganAt) / 1000);
        }
      },
    },
  });

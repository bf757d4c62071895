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
import { createActivities, heartbeatMs } from '../activities/index.js';
import { taskQueues, type TaskQueue } from '../workflows/messages.js';
import { workflowBundle } from './bundle.js';
import type { WorkerConnections } from './connections.js';
import { logInterceptor } from './log-context.js';
import { withUrgency } from './urgency.js';
import type { ActivityDeps } from '../activities/deps.js';
import type { Metrics } from '../core/telemetry.js';

const restartMs = 5000;

/**
 * How long a workflow may compute in one activation; the SDK has this option, but its type omits it. Its watchdog also
 * counts time in which the process is stopped or starved, and if it ends a microtask Node aborts the process
 * (nodejs/node#38503); the default is five seconds. Workflows here compute for milliseconds, so the limit only catches
 * endless loops.
 */
const activationLimit = { isolateExecutionTimeout: '5 minutes' };

/** Workflows with a trace keep exporting spans, also in a process that exports none. */
const unheard: InjectedSinks<OpenTelemetrySinks> = { exporter: { export: { fn: () => undefined } } };

/** Concurrency limits by queue. Activities do not wait for external events, so a slot is free again within seconds. */
const limits: Readonly<Record<TaskQueue, Partial<WorkerOptions>>> = {
  control: { maxConcurrentActivityTaskExecutions: 100, maxCachedWorkflows: 1000 },
  packing: { maxConcurrentActivityTaskExecutions: 2 },
  cloud: { maxConcurrentActivityTaskExecutions: 100 },
  drain: { maxConcurrentActivityTaskExecutions: 100 },
  urgent: { maxConcurrentActivityTaskExecutions: 200, maxCachedWorkflows: 2000 },
};

/** Requests of these queues go first when a client-side limit makes requests wait. */
const pressing: ReadonlySet<TaskQueue> = new Set(['drain', 'urgent']);
/** Queues that also run workflows. */
const withWorkflows: ReadonlySet<TaskQueue> = new Set(['control', 'urgent']);

/** Forwards the SDK's log, and makes it export its metrics. Once per process, before any connection. */
export function installRuntime(log: Logger, metricsAddress: string): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Most queues serve only activities.
      if (message.startsWith('No workflows registered')) return;
      log[level === 'ERROR' ? 'error' : 'warn'](plain(meta), message);
    }),
    // The core logs every failed poll; `watchTemporal` logs once that the server is unavailable.
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }), forward: {} },
      // Named as in Prometheus.
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

/** Dependencies of workers. */
interface WorkerWorld extends ActivityDeps {
  readonly settings: WorkerSettings;
  readonly identity: string;
}

/** Tracing of activities and workflows. */
export interface WorkerTracing {
  readonly activity: ActivityInterceptorsFactory;
  /** Where workflows export their spans. */
  readonly sinks: InjectedSinks<OpenTelemetrySinks>;
}

/** Payload conversion, tracing and build of the workers of this process. */
interface WorkerExtras {
  readonly dataConverter?: DataConverter;
  readonly tracing?: WorkerTracing | undefined;
  /** Absent if workers are not versioned. */
  readonly buildId?: string | undefined;
}

/** Called with the state of workers by queue. */
interface WorkerWatch {
  runs(queue: string): void;
  fails(queue: string): void;
}

/** Runs a worker on every task queue until `signal` aborts; a failed one is restarted. */
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

/** The options of the worker of each task queue, without the connection. */
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
    // The SDK's default is most of the heartbeat timeout: one late heartbeat would end the attempt.
    maxHeartbeatThrottleInterval: heartbeatMs,
    ...activationLimit,
    ...(withWorkflows.has(name) ? { workflowBundle: bundle } : {}),
    ...(name === 'cloud' && world.cloud.isMetered !== false
      ? { maxTaskQueueActivitiesPerSecond: world.settings.CLOUD_CALLS_PER_SECOND }
      : {}),
    ...limits[name],
    ...versioning(world.cluster, buildId),
  });
}

/** The Worker Deployment name of a cluster's workers. */
export const deploymentName = (cluster: string): string => `stowage-${cluster}`;

/**
 * Workflows are not pinned to a build: one that is pinned to a build without workers makes no progress
 * (settings/worker-versions).
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
      // Aborted while the worker was created: the signal fires only once.
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

/** A function call, so that the value is read again after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * Measures activities as controller-runtime measures reconciliations, so that the panels of Karpenter's dashboards show
 * how long each takes, how often it runs and how often it fails (metrics/reconciliations). `clock` gives milliseconds.
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

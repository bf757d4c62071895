import { setTimeout as delay } from 'node:timers/promises';
import { DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from '@temporalio/worker';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createActivities } from '../activities/index.js';
import { taskQueues } from '../workflows/messages.js';
import { workflowBundle } from './bundle.js';
import type { World } from './world.js';

type Queue = keyof ReturnType<typeof taskQueues>;

const restartMs = 5000;

/** What each queue may do at once. A drain is an activity that may last for days, so there are many. */
const limits: Readonly<Record<Queue, Partial<WorkerOptions>>> = {
  control: { maxConcurrentActivityTaskExecutions: 100, maxCachedWorkflows: 1000 },
  packing: { maxConcurrentActivityTaskExecutions: 2 },
  cloud: { maxConcurrentActivityTaskExecutions: 100 },
  drain: { maxConcurrentActivityTaskExecutions: 1000 },
};

/** Sends the SDK's own log into ours. Once for a process, before any connection. */
export function installRuntime(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Three of the four queues serve activities alone.
      if (message.startsWith('No workflows registered')) return;
      log[level === 'ERROR' ? 'error' : 'warn'](plain(meta), message);
    }),
    // The core tells of every failed poll; `watchTemporal` says once that the server is away.
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }), forward: {} },
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

/** Runs a worker on every task queue until `signal` aborts; one that fails is started again. */
export async function runWorkers(
  world: World,
  connection: NativeConnection,
  signal: AbortSignal,
  onRunning: () => void,
): Promise<void> {
  const activities = createActivities(world);
  const queues = taskQueues(world.cluster);
  const bundle = await workflowBundle();
  let running = 0;
  const started = (): void => {
    running += 1;
    if (running === Object.keys(queues).length) onRunning();
  };
  await Promise.all(
    (Object.keys(queues) as Queue[]).map((name) => {
      const options: WorkerOptions = {
        connection,
        namespace: world.settings.TEMPORAL_NAMESPACE,
        taskQueue: queues[name],
        identity: `${world.identity}@${name}`,
        activities: activities[name],
        shutdownGraceTime: '2 seconds',
        shutdownForceTime: '5 seconds',
        ...(name === 'control' ? { workflowBundle: bundle } : {}),
        ...(name === 'cloud' ? { maxTaskQueueActivitiesPerSecond: world.settings.CLOUD_CALLS_PER_SECOND } : {}),
        ...limits[name],
        ...versioning(world),
      };
      return keepRunning(world, name, options, { signal, started });
    }),
  );
}

/** Off by default: pinning needs the deployment to be made current on the server. */
function versioning({ settings, cluster }: World): Partial<WorkerOptions> {
  if (!settings.WORKER_VERSIONING) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: `stowage-${cluster}`, buildId: settings.WORKER_BUILD_ID },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    },
  };
}

async function keepRunning(
  world: World,
  name: Queue,
  options: WorkerOptions,
  { signal, started }: { signal: AbortSignal; started: () => void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const worker = await Worker.create(options);
      const stop = (): void => {
        if (worker.getState() === 'RUNNING') worker.shutdown();
      };
      const running = worker.run();
      signal.addEventListener('abort', stop, { once: true });
      // Told to end while the worker was being made: nobody tells it again.
      if (isOver(signal)) stop();
      started();
      await running;
      signal.removeEventListener('abort', stop);
    } catch (error) {
      if (isOver(signal)) return;
      world.log.error({ queue: name, error: String(error) }, 'a worker failed, starting it again');
      await delay(restartMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Asked anew after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

import { setMaxListeners } from 'node:events';
import type { Client } from '@temporalio/client';
import { setFlagsFromString } from 'node:v8';
import { limiterClock } from '../kube/limiter.js';
import { runOperator } from './operator.js';
import { workflowIds } from '../core/ids.js';
import { taskQueues } from '../workflows/messages.js';
import { usableEngine } from './engine-version.js';
import { TemporalClusterIdentityStore } from './cluster-identity.js';
import { registerProcessGauges } from './gauges/process.js';
import { registerGauges } from './gauges/register.js';
import { clientConverter, workerConverter } from './encryption/converter.js';
import { containFaults } from './faults.js';
import { serveHttp } from './http.js';
import { sendOrderPolicy } from './order-headers.js';
import { ProcessProgress, readyChecks, type Role } from './probes.js';
import { registerSearchAttributes } from './search-attributes.js';
import { withRegion } from './region.js';
import { exportSdkMetrics } from './metrics.js';
import { SettingsError, type Settings } from './settings.js';
import {
  connectTemporal,
  retryUntilWorks,
  renewConnections,
  watchTemporal,
  type TemporalConnections,
} from './temporal.js';
import { connectOptions, readSettingsWithProfile } from './temporal-options.js';
import { installRuntime, runWorkers } from '../worker/workers.js';
import { TemporalDeployment } from './versions/deployment.js';
import { buildIdFor, Rollout } from './versions/rollout.js';
import { createWorld, type World } from './world.js';
import type { Tracing } from './tracing/export.js';
import { messageOf } from '../core/error-message.js';
import { printable } from '../core/text.js';
import type { Log } from '../core/telemetry.js';

interface RunOptions {
  /** Default `all`: operator and worker in one process. */
  readonly role?: Role;
  /** Settings given as flags, by their kebab-case names; they override the environment. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Serves the page until the signal aborts; called by processes with the operator's role. */
  readonly servePage?: (world: World, client: Client, signal: AbortSignal) => Promise<void>;
}

/**
 * Limits the young generation of threads for packing and Temporal workers to half of what is set for the main
 * thread (docs/image.md), at least 6 MB: with V8's default of 48 MB each thread would hold that much garbage. Below
 * 12 MB packing takes a tenth more processor.
 */
function keepYoungGenerationsSmall(): void {
  const options = [process.env['NODE_OPTIONS'] ?? '', ...process.execArgv].join(' ');
  const [, chosen = '0'] = /max[-_]semi[-_]space[-_]size=(\d+)/.exec(options) ?? [];
  setFlagsFromString(`--max-semi-space-size=${Math.max(2, Math.floor(Number(chosen) / 2))}`);
}

/** The process exits at the latest after this time: longer than workers take to shut down (worker/workers.ts). */
const mostEndMs = 30_000;
/** How long a process that has closed everything may take to exit. */
const closedMs = 500;

/**
 * `stowage run`: runs until SIGTERM or SIGINT. Returns the exit status: 0 after an orderly shutdown, 2 for invalid
 * settings. Waits for an unreachable API server, Temporal or cloud.
 */
export async function runAll(options: RunOptions = {}): Promise<number> {
  const role = options.role ?? 'all';
  keepYoungGenerationsSmall();
  const ending = new AbortController();
  // All components of the process listen to this signal.
  setMaxListeners(0, ending.signal);
  // First of all: as PID 1 of a container, a process without a handler is not ended by SIGTERM.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => ending.abort());
  let world: World;
  try {
    world = await composed(options);
  } catch (error) {
    process.stderr.write(`stowage: ${printable(messageOf(error))}\n`);
    return error instanceof SettingsError ? 2 : 1;
  }
  const status = await served(world, { role, servePage: options.servePage }, ending);
  endSoon();
  return status;
}

/** Runs `world` until it is stopped or fails, and closes it. Returns the exit status. */
async function served(
  world: World,
  { role, servePage }: { readonly role: Role } & Pick<RunOptions, 'servePage'>,
  ending: AbortController,
): Promise<number> {
  const { cache, identity, log, metrics, onFault, settings, cluster } = world;
  const closing: (() => Promise<void> | undefined)[] = [() => world.close()];
  containFaults(process, onFault);
  try {
    ending.signal.addEventListener('abort', () => endLate(world));
    // Its threads end with the last worker, and an operator never has one.
    const sdkMetrics =
      role === 'operator' ? undefined : await exportSdkMetrics((address) => installRuntime(log, address));
    if (role !== 'worker') {
      registerGauges(metrics.registry, world, { objects: !settings.DISABLE_CLUSTER_STATE_OBSERVABILITY });
    }
    const progress = new ProcessProgress(limiterClock);
    const tracing = await startTracing(settings, { role, identity, log });
    closing.push(() => tracing?.close());
    registerProcessGauges(metrics.registry, { role, identity, progress, cache, now: () => limiterClock.now() });
    const queues = Object.keys(taskQueues(cluster)).length;
    const stopHttp = await serveHttp({
      metricsPort: settings.METRICS_PORT,
      healthPort: settings.HEALTH_PROBE_PORT,
      address: settings.LISTEN_ADDRESS,
      registry: metrics.registry,
      ...(sdkMetrics === undefined ? {} : { sdkMetrics }),
      alive: () => progress.alive(),
      ready: () => readyChecks(world, role, progress, queues),
      onFault,
    });
    closing.unshift(stopHttp);
    log.info({ role, cluster }, 'starting');
    await run(world, { role, progress, tracing, servePage }, ending.signal);
    return 0;
  } catch (error) {
    if (ending.signal.aborted) return 0;
    return failed(world, error);
  } finally {
    ending.abort();
    for (const close of closing) await close();
    log.info({}, 'stopped');
  }
}

/** Logs why the process exits. Returns the exit status. */
function failed({ log }: World, error: unknown): number {
  if (error instanceof SettingsError) {
    process.stderr.write(`stowage: ${printable(error.message)}\n`);
    return 2;
  }
  log.error({ error: error instanceof Error ? error.stack : String(error) }, 'stopping after a failure');
  return 1;
}

/**
 * Exits after everything is closed. Threads of Temporal's SDK end only with its last worker, so they would keep a
 * process without workers alive: one that is stopped while it waits for Temporal, or that fails before.
 */
function endSoon(): void {
  setTimeout(() => process.exit(), closedMs).unref();
}

/** Exits even if something keeps the process alive: as after a crash, nothing depends on an orderly end. */
function endLate({ log }: World): void {
  setTimeout(() => {
    log.error({}, 'shutdown timed out: exiting');
    process.exit(1);
  }, mostEndMs).unref();
}

/** Throws `SettingsError`, also for errors in files that settings name. */
async function composed({ flags, role }: RunOptions): Promise<World> {
  const settings = await withRegion(readSettingsWithProfile(process.env, flags));
  connectOptions(settings);
  clientConverter(settings, () => undefined);
  return createWorld(settings, { packs: role !== 'operator' });
}

interface Running {
  readonly role: Role;
  readonly progress: ProcessProgress;
  readonly tracing: Tracing | undefined;
  readonly servePage: RunOptions['servePage'];
}

async function run(world: World, { role, progress, tracing, servePage }: Running, signal: AbortSignal): Promise<void> {
  const { settings, log, karpenter, name } = world;
  const watching = karpenter.watch(signal);
  const syncing = world.cache.start(signal);
  // It also rejects when the process stops, possibly before it is awaited below.
  void syncing.catch(() => undefined);
  const connections = await connectTemporal(settings, log, signal, {
    workflow: [sendOrderPolicy(settings.ORDER_POLICY), ...(tracing?.client.workflow ?? [])],
  });
  const { client } = connections;
  const onProblem = (problem: string | undefined): void => void (progress.engineProblem = problem);
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_ADDRESS: address } = settings;
  await usableEngine(client, { namespace, log, onProblem }, signal);
  const registering = { fails: 'search attributes cannot be registered', works: 'search attributes are registered' };
  await retryUntilWorks(
    () => registerSearchAttributes(client.connection, namespace, log),
    { address, ...registering },
    log,
    signal,
  );
  progress.temporal = true;
  world.offerings.connect(client);
  world.entities.connect(client);
  await syncing;
  if (role !== 'worker' && settings.PAGE_PORT > 0) await servePage?.(world, client, signal);
  const onState = (connected: boolean): void => void (progress.temporal = connected);
  const parts: Promise<void>[] = [
    watching,
    watchTemporal(
      client,
      {
        ...{ log, address, namespace, onState, onProblem, always: workflowIds.disrupt(world.cluster) },
        onRestored: () => connections.restartWorkers(),
        onPoll: () => progress.beat(),
      },
      signal,
    ),
  ];
  const workers = role === 'operator' ? undefined : await workersOn(world, connections, { progress, tracing }, signal);
  parts.push(renewConnections(settings, connections, log, signal));
  const act = async (own: AbortSignal): Promise<void> => {
    await Promise.all([
      workers === undefined ? undefined : karpenter.whileFree(own, workers),
      role === 'worker' ? undefined : runOperator(world, client, own, (holder) => void (progress.leader = holder)),
    ]);
  };
  parts.push(name.whileOwn(new TemporalClusterIdentityStore(client, world.cluster), signal, act));
  try {
    await Promise.all(parts);
  } finally {
    await connections.close();
  }
}

/** Components that only run with workers. */
async function workersOn(
  world: World,
  connections: TemporalConnections,
  { progress, tracing }: Pick<Running, 'progress' | 'tracing'>,
  signal: AbortSignal,
): Promise<(free: AbortSignal) => Promise<void>> {
  const { settings, log, cluster } = world;
  const dataConverter = workerConverter(settings, (problem) =>
    log.warn({ problem }, 'the previous payload keys stay in use'),
  );
  const forWorkers = await connections.forWorkers();
  const deployment = new TemporalDeployment(connections.client, cluster);
  const temporal = { address: settings.TEMPORAL_ADDRESS };
  const buildId = await retryUntilWorks(() => buildIdFor(settings, deployment, log), temporal, log, signal);
  const rollout = new Rollout({ deployment, buildId, log, clock: limiterClock });
  progress.build = rollout;
  return async (free) => {
    const extras = { dataConverter, tracing: tracing?.worker, buildId };
    await Promise.all([runWorkers(world, forWorkers, free, progress, extras), rollout.follow(free)]);
    progress.stops();
  };
}

/** Undefined if no collector is configured: then only OpenTelemetry's API is loaded, which does nothing. */
async function startTracing(
  settings: Pick<Settings, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'CLUSTER_NAME'>,
  process: { readonly role: string; readonly identity: string; readonly log: Log },
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, CLUSTER_NAME: cluster } = settings;
  if (endpoint === undefined) return undefined;
  const { exportTraces } = await import('./tracing/export.js');
  return exportTraces({ endpoint, cluster, ...process });
}

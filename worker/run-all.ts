import { setMaxListeners } from 'node:events';
import type { NativeConnection } from '@temporalio/worker';
import { runOperator } from '../operator/operator.js';
import { registerGauges } from './gauges/register.js';
import { serveHttp } from './http.js';
import { registerSearchAttributes } from './search-attributes.js';
import { readSettings, SettingsError } from './settings.js';
import { connectClient, connectWorker, insist, watchTemporal } from './temporal.js';
import { installRuntime, runWorkers } from './workers.js';
import { createWorld } from './world.js';
import type { World } from './world.js';

export interface RunOptions {
  /** Default `all`: operator and worker in one process. */
  readonly role?: 'all' | 'operator' | 'worker';
  /** Settings given as flags, by their kebab-case names; they win over the environment. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** What is not up yet, for /readyz. */
interface Readiness {
  temporal: boolean;
  workers: boolean;
}

/**
 * `stowage run`: runs until SIGTERM or SIGINT. Gives the exit status: 0 after an orderly end, 2 for settings that do not
 * work. An API server, Temporal or cloud that cannot be reached is waited for.
 */
export async function runAll(options: RunOptions = {}): Promise<number> {
  const role = options.role ?? 'all';
  let world: World;
  try {
    world = createWorld(readSettings(process.env, options.flags));
  } catch (error) {
    process.stderr.write(`stowage: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof SettingsError ? 2 : 1;
  }
  const ending = new AbortController();
  // Every part of the process hangs on this one signal.
  setMaxListeners(0, ending.signal);
  const end = (): void => ending.abort();
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  installRuntime(world.log);
  if (role !== 'worker') {
    registerGauges(world.metrics.registry, world, { objects: !world.settings.DISABLE_CLUSTER_STATE_OBSERVABILITY });
  }
  const readiness: Readiness = { temporal: false, workers: role === 'operator' };
  const stopHttp = await serveHttp({
    metricsPort: world.settings.METRICS_PORT,
    healthPort: world.settings.HEALTH_PROBE_PORT,
    address: world.settings.LISTEN_ADDRESS,
    registry: world.metrics.registry,
    notReady: () => notReady(world, readiness),
  });
  world.log.info({ role, cluster: world.cluster }, 'starting');
  try {
    await run(world, role, readiness, ending.signal);
    return 0;
  } catch (error) {
    if (ending.signal.aborted) return 0;
    world.log.error({ error: error instanceof Error ? error.stack : String(error) }, 'stopping after a failure');
    return 1;
  } finally {
    ending.abort();
    await stopHttp();
    await world.close();
    world.log.info({}, 'stopped');
  }
}

function notReady({ cache }: World, { temporal, workers }: Readiness): string | undefined {
  if (!cache.synced) return `the cluster cache still lists ${cache.unsynced.join(', ')}`;
  if (!temporal) return 'Temporal is not connected';
  return workers ? undefined : 'the workers have not started';
}

async function run(
  world: World,
  role: 'all' | 'operator' | 'worker',
  readiness: Readiness,
  signal: AbortSignal,
): Promise<void> {
  const { settings, log } = world;
  const syncing = world.cache.start(signal);
  const client = await connectClient(settings, log, signal);
  await insist(
    () => registerSearchAttributes(client.connection, settings.TEMPORAL_NAMESPACE),
    { what: 'registering search attributes at Temporal', where: settings.TEMPORAL_ADDRESS },
    log,
    signal,
  );
  readiness.temporal = true;
  world.offerings.connect(client);
  await syncing;
  const address = settings.TEMPORAL_ADDRESS;
  const onState = (connected: boolean): void => void (readiness.temporal = connected);
  const parts: Promise<void>[] = [watchTemporal(client, { log, address, onState }, signal)];
  let connection: NativeConnection | undefined;
  if (role !== 'operator') {
    connection = await connectWorker(settings, log, signal);
    parts.push(runWorkers(world, connection, signal, () => void (readiness.workers = true)));
  }
  if (role !== 'worker') parts.push(runOperator(world, client, signal));
  try {
    await Promise.all(parts);
  } finally {
    await client.connection.close();
    await connection?.close();
  }
}

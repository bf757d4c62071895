import proto from '@temporalio/proto';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { type Component, type Engine, engines, type StackContext, tool } from './components.js';
import { databases, databaseUser, postgresqlComponent, preparePostgresql } from './postgresql.js';
import { answers } from './http.js';

/**
 * The dev server has one history shard, and a shard loads its queues at most 20 times a second by default, which
 * costs 100 ms an activity; a production server has hundreds of shards. These settings take the limit away. The file
 * need not outlive a crash of the machine, only of the server: it is not waited for until it is on the disk.
 */
const lowLatency = [
  '--dynamic-config-value=history.transferProcessorMaxPollRPS=1000',
  '--dynamic-config-value=history.timerProcessorMaxPollRPS=1000',
  '--dynamic-config-value=system.enableActivityEagerExecution=true',
  '--sqlite-pragma=journal_mode=WAL',
  '--sqlite-pragma=synchronous=OFF',
];

/** Temporal's dev server with its UI, on a SQLite file. */
function temporalComponent(context: StackContext): Component {
  const { temporal, temporalUi, temporalMetrics } = context.ports;
  return {
    name: 'temporal',
    part: 'temporal',
    address: `127.0.0.1:${temporal}, UI http://127.0.0.1:${temporalUi}`,
    command: tool(context, 'temporal'),
    args: [
      'server',
      'start-dev',
      '--ip=127.0.0.1',
      `--port=${temporal}`,
      `--ui-port=${temporalUi}`,
      `--metrics-port=${temporalMetrics}`,
      `--db-filename=${join(context.folder, 'data/temporal.db')}`,
      '--log-level=warn',
      ...lowLatency,
      ...Object.entries(context.temporalSettings ?? {}).map(
        ([name, value]) => `--dynamic-config-value=${name}=${value}`,
      ),
    ],
    // SQLite in Go leaves much garbage and little live memory: collecting it at every doubling takes a tenth of the CPU.
    env: { GOGC: '400' },
    // The UI asks the frontend: an answer means that both serve and the namespace is there.
    ready: () => answers(`http://127.0.0.1:${temporalUi}/api/v1/namespaces/default`),
    graceMs: 5000,
  };
}

const run = promisify(execFile);

/** Far fewer than in production, and more than one: what is true of a workflow on one shard need not be of all. */
const historyShards = 4;
/** The least that docs/running-temporal.md allows. */
const retention = proto.google.protobuf.Duration.fromObject({ seconds: 86_400 });
const namespace = 'default';

const inServer = (context: StackContext, ...path: string[]): string => join(tool(context, 'temporalServer'), ...path);

/** Brings the databases up to the server's schema; those that have it stay as they are. */
async function prepareDatabases(context: StackContext): Promise<void> {
  const sql = (database: string, ...args: string[]): Promise<unknown> =>
    run(inServer(context, 'bin/temporal-sql-tool'), [
      ...['--plugin', 'postgres12', '--ep', '127.0.0.1', '-p', String(context.ports.postgresql)],
      ...['-u', databaseUser, '--pw', databaseUser, '--db', database, ...args],
    ]);
  for (const [database, schema] of Object.entries(databases)) {
    await sql(database, 'create');
    // Fails on a database that has a schema.
    await sql(database, 'setup-schema', '-v', '0.0').catch(() => undefined);
    await sql(database, 'update-schema', '-d', inServer(context, 'schema', schema, 'versioned'));
  }
}

/** The namespace in which everything is, which a development server makes by itself. */
async function ensureNamespace(context: StackContext): Promise<void> {
  await connected(context, async ({ workflowService }) => {
    const { namespaces } = await workflowService.listNamespaces({});
    if (namespaces.some(({ namespaceInfo }) => namespaceInfo?.name === namespace)) return;
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention });
  });
}

async function connected<T>(context: StackContext, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: frontend(context), connectTimeout: '2s' });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Temporal's server with its four services in one process, as in production but for their number, on PostgreSQL. */
function temporalServerComponent(context: StackContext): Component {
  const root = join(context.folder, 'data/temporal-server');
  mkdirSync(join(root, 'config'), { recursive: true });
  writeFileSync(join(root, 'config/docker.yaml'), JSON.stringify(serverConfig(context, root), null, 2));
  writeFileSync(join(root, 'dynamic.yaml'), JSON.stringify(dynamicConfig(context), null, 2));
  return {
    name: 'temporal',
    part: 'temporal',
    address: `${frontend(context)} on PostgreSQL`,
    command: inServer(context, 'bin/temporal-server'),
    args: ['--root', root, '--config', 'config', '--env', 'docker', 'start'],
    ready: () => connected(context, () => Promise.resolve(true)),
    graceMs: 10_000,
  };
}

const frontend = ({ ports }: StackContext): string => `127.0.0.1:${ports.temporal}`;

function serverConfig({ ports }: StackContext, root: string): object {
  const database = (databaseName: string): object => ({
    sql: {
      ...{
        pluginName: 'postgres12',
        databaseName,
        connectAddr: `127.0.0.1:${ports.postgresql}`,
        connectProtocol: 'tcp',
      },
      ...{ user: databaseUser, password: databaseUser, maxConns: 20, maxIdleConns: 20, maxConnLifetime: '1h' },
    },
  });
  const service = (grpcPort: number, membershipPort: number): object => ({
    rpc: { grpcPort, membershipPort, bindOnIP: '127.0.0.1' },
  });
  const rpcAddress = `127.0.0.1:${ports.temporal}`;
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      ...{ defaultStore: 'default', visibilityStore: 'visibility', numHistoryShards: historyShards },
      datastores: { default: database('temporal'), visibility: database('temporal_visibility') },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' },
      metrics: { prometheus: { listenAddress: `127.0.0.1:${ports.temporalMetrics}` } },
    },
    services: {
      frontend: service(ports.temporal, ports.temporalMembership),
      history: service(ports.temporalHistory, ports.temporalHistoryMembership),
      matching: service(ports.temporalMatching, ports.temporalMatchingMembership),
      worker: service(ports.temporalWorker, ports.temporalWorkerMembership),
    },
    clusterMetadata: {
      ...{ enableGlobalNamespace: false, failoverVersionIncrement: 10 },
      ...{ masterClusterName: 'active', currentClusterName: 'active' },
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress },
      },
    },
    publicClient: { hostPort: rpcAddress },
    dynamicConfigClient: { filepath: join(root, 'dynamic.yaml'), pollInterval: '10s' },
  };
}

/** Nothing but what a test asks for: a server in production has the defaults. */
const dynamicConfig = ({ temporalSettings = {} }: StackContext): object =>
  Object.fromEntries(Object.entries(temporalSettings).map(([name, value]) => [name, [{ value }]]));

/** As `STOWAGE_ENGINE` says; the development server where it says nothing. */
export function engineOf(environment: Readonly<Record<string, string | undefined>>): Engine {
  const { STOWAGE_ENGINE: given = '' } = environment;
  if (given === '') return 'development';
  const found = engines.find((engine) => engine === given);
  if (found !== undefined) return found;
  throw new Error(`STOWAGE_ENGINE is "${given}"; ${engines.join(' and ')} are allowed.`);
}

/** Each after the one before, without which it does not start. */
export function engineComponents(context: StackContext): Component[] {
  if (context.engine !== 'postgres') return [temporalComponent(context)];
  return [postgresqlComponent(context), temporalServerComponent(context)];
}

/** Brings an engine up by `up`, with all that a development server makes by itself. */
export async function bringUpEngine(
  context: StackContext,
  up: (component: Component) => Promise<boolean>,
): Promise<void> {
  if (context.engine !== 'postgres') {
    await up(temporalComponent(context));
    return;
  }
  await preparePostgresql(context);
  await up(postgresqlComponent(context));
  await prepareDatabases(context);
  await up(temporalServerComponent(context));
  await ensureNamespace(context);
}

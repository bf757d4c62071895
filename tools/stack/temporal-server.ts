import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { tool, type Component, type StackContext } from './components.js';
import { databases, databaseUser } from './postgresql.js';

const run = promisify(execFile);

/** Far fewer than in production, and more than one: what is true of a workflow on one shard need not be of all. */
const historyShards = 4;
/** The least that docs/running-temporal.md allows. */
const retention = '1 day';
const namespace = 'default';

const inServer = (context: StackContext, ...path: string[]): string => join(tool(context, 'temporalServer'), ...path);

/** Brings the databases up to the server's schema; those that have it stay as they are. */
export async function prepareDatabases(context: StackContext): Promise<void> {
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
export async function ensureNamespace(context: StackContext): Promise<void> {
  await connected(context, async ({ workflowService }) => {
    const { namespaces } = await workflowService.listNamespaces({});
    if (namespaces.some(({ namespaceInfo }) => namespaceInfo?.name === namespace)) return;
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs(retention) });
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
export function temporalServerComponent(context: StackContext): Component {
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

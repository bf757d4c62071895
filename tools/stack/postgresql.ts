import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Component, StackContext } from './components.js';

const run = promisify(execFile);

/** The databases of a Temporal server, with the folder of its schema for each. */
export const databases = { temporal: 'temporal', temporal_visibility: 'visibility' } as const;
/** Whom the databases belong to. */
export const databaseUser = 'temporal';

/** Where Debian and the PostgreSQL project put the programs of a server. */
const installations = '/usr/lib/postgresql';

/** The folder with the newest installed server, initdb, pg_dump and pg_restore; undefined where there is none. */
function postgresqlPrograms(): string | undefined {
  const versions = existsSync(installations)
    ? readdirSync(installations)
        .map(Number)
        .sort((a, b) => b - a)
    : [];
  return versions
    .map((version) => join(installations, String(version), 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

function program(name: string): string {
  const bin = postgresqlPrograms();
  if (bin === undefined)
    throw new Error(
      `PostgreSQL is not installed below ${installations} (on Debian and Ubuntu: apt install postgresql).`,
    );
  return join(bin, name);
}

/** Its server refuses to run as root. */
const isRoot = (): boolean => process.getuid?.() === 0;
const asPostgres = (command: string, args: readonly string[]): [string, string[]] =>
  isRoot()
    ? ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', command, ...args]]
    : [command, [...args]];

/** Not below the folder of the stack, which another user may not enter. */
function dataFolder({ folder }: Pick<StackContext, 'folder'>): string {
  return join(tmpdir(), `stowage-postgresql-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`);
}

/** An empty database cluster, unless there is one. */
export async function preparePostgresql(context: StackContext): Promise<void> {
  const folder = dataFolder(context);
  if (existsSync(join(folder, 'PG_VERSION'))) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isRoot()) await run('chown', ['postgres:postgres', folder]);
  const options = ['--auth=trust', `--username=${databaseUser}`, '--encoding=UTF8', '--locale=C', '--no-sync'];
  await run(...asPostgres(program('initdb'), [...options, '-D', folder]), { cwd: tmpdir() });
}

/** What a stack that is down keeps nothing of. */
export function removePostgresql(context: Pick<StackContext, 'folder'>): void {
  rmSync(dataFolder(context), { recursive: true, force: true });
}

/** A server on loopback whose files need not outlive a crash of the machine. */
export function postgresqlComponent(context: StackContext): Component {
  const { postgresql: port } = context.ports;
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=200',
    'fsync=off',
  ];
  const [command, args] = asPostgres(program('postgres'), [
    ...['-D', dataFolder(context)],
    ...settings.flatMap((setting) => ['-c', setting]),
  ]);
  return {
    name: 'postgresql',
    part: 'temporal',
    address: `127.0.0.1:${port}`,
    command,
    args,
    ready: async () => {
      await run(program('pg_isready'), [...connection(port), '--dbname=postgres', '--quiet']);
      return true;
    },
    graceMs: 5000,
  };
}

const connection = (port: number): string[] => ['--host=127.0.0.1', `--port=${port}`, `--username=${databaseUser}`];

/**
 * Writes both databases of a Temporal server into `folder`, each as it is at one moment, while the server runs.
 *
 * @testOnly
 */
export async function dumpDatabases(port: number, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const name of Object.keys(databases)) {
    await run(program('pg_dump'), [...connection(port), '--format=custom', `--file=${join(folder, name)}`, name]);
  }
}

/**
 * Makes both databases what `dumpDatabases` wrote. No client may be connected to them.
 *
 * @testOnly
 */
export async function restoreDatabases(port: number, folder: string): Promise<void> {
  for (const name of Object.keys(databases)) {
    await run(program('dropdb'), [...connection(port), '--force', name]);
    await run(program('createdb'), [...connection(port), name]);
    await run(program('pg_restore'), [...connection(port), `--dbname=${name}`, join(folder, name)]);
  }
}

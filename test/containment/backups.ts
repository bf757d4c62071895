import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dumpDatabases, restoreDatabases } from '../../tools/stack/postgresql.js';
import { readState } from '../../tools/stack/stack-state.js';
import type { Stack } from '../../tools/stack/stack.js';

type Store = 'etcd' | 'temporal';

/** Who writes to a store, in the order in which they stop. */
const writers: Readonly<Record<Store, readonly string[]>> = {
  etcd: ['kube-apiserver', 'etcd'],
  temporal: ['temporal'],
};
/** What follows a restored cluster has to begin anew, as Kubernetes says; Stowage is none of them. */
const followers: Readonly<Record<Store, readonly string[]>> = {
  etcd: ['kube-scheduler', 'kube-controller-manager', 'kwok', 'node-joiner'],
  temporal: [],
};
/** How the names of a store's files begin. */
const files: Readonly<Record<Store, string>> = { etcd: 'etcd', temporal: 'temporal.db' };

/** Copies what etcd, or Temporal's database, holds; a database of PostgreSQL while Temporal goes on. */
export async function backUp(stack: Stack, store: Store): Promise<void> {
  const { data, backup } = foldersOf(stack, store);
  const port = postgresqlPort(stack, store);
  if (port !== undefined) return dumpDatabases(port, backup);
  await without(stack, store, () => {
    mkdirSync(backup, { recursive: true });
    for (const file of filesOf(data, store)) cpSync(join(data, file), join(backup, file), { recursive: true });
  });
}

/** Everything is as it was when it was backed up, versions included. */
export async function restore(stack: Stack, store: Store): Promise<void> {
  const { data, backup } = foldersOf(stack, store);
  const port = postgresqlPort(stack, store);
  await without(stack, store, async () => {
    if (port !== undefined) return restoreDatabases(port, backup);
    for (const file of filesOf(data, store)) rmSync(join(data, file), { recursive: true });
    cpSync(backup, data, { recursive: true });
  });
  for (const component of followers[store]) {
    await stack.stopComponent(component);
    await stack.startComponent(component);
  }
}

/** Of the server that has Temporal's databases; undefined where a file has them. */
function postgresqlPort({ folder }: Stack, store: Store): number | undefined {
  const state = readState(folder);
  return store === 'temporal' && state?.engine === 'postgres' ? state.ports.postgresql : undefined;
}

function foldersOf({ folder }: Stack, store: Store): { readonly data: string; readonly backup: string } {
  return { data: join(folder, 'data'), backup: join(folder, `backup-${store}`) };
}

/** With the log beside a database. */
const filesOf = (data: string, store: Store): string[] =>
  readdirSync(data).filter((file) => file.startsWith(files[store]));

async function without(stack: Stack, store: Store, work: () => Promise<void> | void): Promise<void> {
  for (const component of writers[store]) await stack.stopComponent(component);
  await work();
  for (const component of writers[store].toReversed()) await stack.startComponent(component);
}

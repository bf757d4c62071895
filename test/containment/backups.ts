import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from '../../devstack/stack.js';

type Store = 'etcd' | 'temporal.db';

/** Who writes to a store, in the order in which they stop. */
const writers: Readonly<Record<Store, readonly string[]>> = {
  etcd: ['kube-apiserver', 'etcd'],
  'temporal.db': ['temporal'],
};
/** What follows a restored cluster has to begin anew, as Kubernetes says; Stowage is none of them. */
const followers: Readonly<Record<Store, readonly string[]>> = {
  etcd: ['kube-scheduler', 'kube-controller-manager', 'kwok', 'node-joiner'],
  'temporal.db': [],
};

/** Copies what etcd, or Temporal's database, holds. */
export async function backUp(stack: Stack, store: Store): Promise<void> {
  const { data, backup } = foldersOf(stack, store);
  await without(stack, store, () => {
    mkdirSync(backup, { recursive: true });
    for (const file of filesOf(data, store)) cpSync(join(data, file), join(backup, file), { recursive: true });
  });
}

/** Everything is as it was when it was backed up, versions included. */
export async function restore(stack: Stack, store: Store): Promise<void> {
  const { data, backup } = foldersOf(stack, store);
  await without(stack, store, () => {
    for (const file of filesOf(data, store)) rmSync(join(data, file), { recursive: true });
    cpSync(backup, data, { recursive: true });
  });
  for (const component of followers[store]) {
    await stack.stopComponent(component);
    await stack.startComponent(component);
  }
}

function foldersOf({ folder }: Stack, store: Store): { readonly data: string; readonly backup: string } {
  return { data: join(folder, 'data'), backup: join(folder, `backup-${store}`) };
}

/** With the log beside a database. */
const filesOf = (data: string, store: Store): string[] => readdirSync(data).filter((file) => file.startsWith(store));

async function without(stack: Stack, store: Store, work: () => void): Promise<void> {
  for (const component of writers[store]) await stack.stopComponent(component);
  work();
  for (const component of writers[store].toReversed()) await stack.startComponent(component);
}

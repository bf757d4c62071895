import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, Ports, SharedMoto, StackPart, StartedComponent } from './components.js';
import { isRunning, type ProcessRecord } from './processes.js';

/** How to reach a stack; a part that was not started has none of its addresses. */
export interface StackEndpoints {
  /** kube-apiserver, `https://127.0.0.1:port`. */
  apiserver?: string;
  /** A kubeconfig with every right. */
  adminKubeconfig?: string;
  /** A kubeconfig of `system:serviceaccount:stowage:stowage`, with the rights of deploy/rbac.yaml alone. */
  stowageKubeconfig?: string;
  /** kubectl of the same version. */
  kubectl?: string;
  /** Temporal's command of the server's version. */
  temporal?: string;
  /** Temporal's frontend, `127.0.0.1:port`. */
  temporalAddress?: string;
  /** Temporal's UI, `http://127.0.0.1:port`. */
  temporalUiUrl?: string;
  /** Stowage's page, `http://127.0.0.1:port`. */
  pageUrl?: string;
  /** Temporal's own metrics, as Prometheus reads them. */
  temporalMetricsUrl?: string;
  /** The cloud proxy: every AWS service and the control API under /_stowage/. */
  awsEndpoint?: string;
  /** The HTTP proxy that is the way to AWS' own endpoints, and the certificate that it is trusted by; absent where there is none. */
  httpsProxy?: string;
  caBundle?: string;
  /** moto itself, behind the proxy: for looking only. */
  motoEndpoint?: string;
  /** URL of the interruption queue. */
  queueUrl?: string;
}

/** The contents of stack.json. */
export interface StackState {
  version: 1;
  name: string;
  folder: string;
  cluster: string;
  region: string;
  /** As StackContext says. */
  containers?: boolean;
  /** As StackContext says. */
  proxy?: boolean;
  /** As StackContext says. */
  temporalSettings?: Readonly<Record<string, number>>;
  /** As StackContext says. */
  instanceFamilies?: readonly string[];
  /** As StackContext says. */
  engine?: Engine;
  /** As StackContext says. */
  moto?: SharedMoto;
  ports: Ports;
  parts: StackPart[];
  components: StartedComponent[];
  endpoints: StackEndpoints;
}

const fileOf = (folder: string): string => join(folder, 'stack.json');

export function readState(folder: string): StackState | undefined {
  try {
    const state = JSON.parse(readFileSync(fileOf(folder), 'utf8')) as StackState;
    return (state.version as number) === 1 ? state : undefined;
  } catch {
    return undefined;
  }
}

export function writeState(state: StackState): void {
  const fresh = `${fileOf(state.folder)}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, fileOf(state.folder));
}

/** Runs `body` while no other process changes the stack in `folder`; a lock of a dead process is taken over. */
export async function withStackLock<T>(folder: string, body: () => Promise<T>): Promise<T> {
  mkdirSync(folder, { recursive: true });
  const lock = join(folder, 'lock');
  while (!tryLock(lock)) await sleep(100);
  try {
    return await body();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    writeFileSync(lock, JSON.stringify({ pid: process.pid } satisfies ProcessRecord), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  try {
    const holder = JSON.parse(readFileSync(lock, 'utf8')) as ProcessRecord;
    if (!isRunning(holder)) rmSync(lock, { force: true });
  } catch {
    // It is being written or was just released.
  }
  return false;
}

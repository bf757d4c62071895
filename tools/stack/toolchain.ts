import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from './paths.js';

/** Every program of the installed components; those of components that were not asked for are absent. */
export interface Toolchain {
  etcd: string;
  apiserver: string;
  scheduler: string;
  controllerManager: string;
  kubectl: string;
  kwok: string;
  kwokStages: string;
  temporal: string;
  motoPython: string;
  /** A folder for answers that never change between runs of the same moto. */
  motoAnswers: string;
  temporalTestServer: string;
  kubelet: string;
  /** A static program that sleeps, for the pods' sandboxes. */
  pause: string;
  helm: string;
  /** Karpenter's own end-to-end suite, a program. */
  karpenterSuite: string;
  /** An archive for `docker import`: Debian with Node and npm. */
  nodeImage: string;
  /** Docker's compose plugin. */
  compose: string;
  /** A folder: bin/ with temporal-server, temporal-sql-tool and temporal-ui, and schema/ of PostgreSQL. */
  temporalServer: string;
  /** An archive for `docker import`: Debian with PostgreSQL and Python. */
  servicesImage: string;
}

export type ToolchainComponent =
  | 'kubernetes'
  | 'temporal'
  | 'moto'
  | 'temporal-test-server'
  | 'kubelet'
  | 'helm'
  | 'node-image'
  | 'compose'
  | 'temporal-server'
  | 'services-image'
  | 'karpenter-suite';

/** The installer's message: what this machine lacks, or what failed, and what to do. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
}

/** Makes sure that the components are installed (by `install.mjs`, which shows its progress on stderr) and returns their paths; rejects with an InstallError. */
export async function ensureToolchain(components: readonly ToolchainComponent[]): Promise<Partial<Toolchain>> {
  if (components.length === 0) return {};
  const installer = join(repositoryRoot(), 'tools/stack/install.mjs');
  const running = promisify(execFile)(process.execPath, [installer, '--json', ...components], { encoding: 'utf8' });
  running.child.stderr?.pipe(process.stderr, { end: false });
  try {
    return JSON.parse((await running).stdout) as Partial<Toolchain>;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new InstallError(stderr === undefined || stderr === '' ? String(error) : stderr.trim());
  }
}

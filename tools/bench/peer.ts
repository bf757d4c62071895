import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { PlanJson } from '../../test/checker/types.js';
import type { ConsolidationJson } from '../../test/checker/consolidation.js';
import { complaint, run } from './processes.js';
import { InstallError } from '../stack/toolchain.js';
import { repositoryRoot } from './repository.js';

/** Karpenter's plan, and what it took to make it. */
export interface PeerPlan extends PlanJson {
  readonly version: string;
  readonly solveMs: readonly number[];
  readonly maxRssMb: number;
}

export interface PeerConsolidation extends ConsolidationJson {
  readonly maxRssMb: number;
}

/** Karpenter's engine as a program, built on first use into the user's cache folder under a stamp of its sources. */
export class Peer {
  private constructor(private readonly program: string) {}

  /** Throws with the compiler's words when it does not build; needs Go, and minutes the first time. */
  static async ready(say: (line: string) => void): Promise<Peer> {
    return new Peer(await built('karpenter-peer', '.', say));
  }

  /** So many plans for the same files, each with a fresh scheduler; or why there are none. */
  async solve(objects: string, catalogue: string, repeat: number, timeoutMs: number): Promise<PeerPlan[] | string> {
    const args = ['solve', '--objects', objects, '--catalogue', catalogue, '--repeat', String(repeat), '-o', 'json'];
    const finished = await run(this.program, args, { timeoutMs });
    return finished.status === 0 ? (JSON.parse(finished.stdout) as PeerPlan[]) : complaint(finished);
  }

  async consolidate(objects: string, catalogue: string, timeoutMs: number): Promise<PeerConsolidation | string> {
    const args = ['consolidate', '--objects', objects, '--catalogue', catalogue, '-o', 'json'];
    const finished = await run(this.program, args, { timeoutMs });
    return finished.status === 0 ? (JSON.parse(finished.stdout) as PeerConsolidation) : complaint(finished);
  }
}

/** Karpenter itself with its KWOK provider, as a program; built like the peer. */
export async function karpenterOnKwok(say: (line: string) => void): Promise<string> {
  return built('karpenter-kwok', 'sigs.k8s.io/karpenter/kwok', say);
}

/** The path of a program of the peer's Go module, compiled on first use. */
async function built(name: string, goPackage: string, say: (line: string) => void): Promise<string> {
  const sources = join(repositoryRoot(), 'tools/bench/karpenter-peer');
  const folder = join(cacheFolder(), 'bench', `karpenter-peer-${stampOf(sources)}`);
  const program = join(folder, name);
  if (existsSync(program)) return program;
  say(`building ${name} (once, a few minutes)`);
  mkdirSync(folder, { recursive: true });
  const fresh = `${program}.${process.pid}`;
  await compile(sources, goPackage, fresh);
  renameSync(fresh, program);
  return program;
}

async function compile(sources: string, goPackage: string, program: string): Promise<void> {
  const finished = await run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', program, goPackage], {
    cwd: sources,
    env: { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly -buildvcs=false' },
    timeoutMs: 30 * 60_000,
  }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new NoPeerError(
      `Karpenter cannot be built: go was not found: get Go 1.26.6 or newer from https://go.dev/dl/, ${without}`,
    );
  });
  if (finished.status !== 0)
    throw new NoPeerError(
      `Karpenter cannot be built: ${goPackage} (its modules come from the Go module proxy), ${without}: ${complaint(finished)}`,
    );
}

const without = 'or measure Stowage alone (bench: --no-peer, bench:race: --engine stowage)';

class NoPeerError extends Error {
  override readonly name = 'NoPeerError';
}

/** Prints what a bench needs and this machine lacks; any other error is thrown again. */
export function reportWhatIsMissing(error: unknown): void {
  if (!(error instanceof NoPeerError || error instanceof InstallError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function cacheFolder(): string {
  const xdg = process.env['XDG_CACHE_HOME'] ?? '';
  return join(xdg === '' ? join(homedir(), '.cache') : xdg, 'stowage');
}

function stampOf(folder: string): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) {
    if (/\.go$|^go\.(mod|sum)$/.test(file)) hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  }
  return hash.digest('hex').slice(0, 12);
}

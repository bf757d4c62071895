import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From start to end of the process, milliseconds. */
  readonly wallMs: number;
  readonly timedOut: boolean;
}

/** Runs a command to its end, or until `timeoutMs` have passed, and keeps what it wrote. */
export function run(
  command: string,
  args: readonly string[],
  options: { timeoutMs: number; env?: NodeJS.ProcessEnv; cwd?: string },
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
      cwd: options.cwd,
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, options.timeoutMs);
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({
        status,
        stdout: Buffer.concat(out).toString('utf8'),
        stderr: Buffer.concat(err).toString('utf8'),
        wallMs: performance.now() - started,
        timedOut,
      });
    });
  });
}

/** Says in one line why a process did not do its work. */
export function complaint(finished: Finished): string {
  if (finished.timedOut) return `stopped after ${Math.round(finished.wallMs / 1000)} s`;
  const said = finished.stderr.trim().split('\n').slice(0, 3).join(' | ');
  return `exit status ${finished.status ?? 'none'}: ${said}`;
}

/** Runs a Node program and learns its peak memory from the process itself. */
export async function runNode(
  args: readonly string[],
  timeoutMs: number,
): Promise<Finished & { readonly maxRssMb: number | undefined }> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-bench-'));
  const file = join(folder, 'memory');
  try {
    const hook = new URL('./report-memory.js', import.meta.url).href;
    const finished = await run(process.execPath, ['--import', hook, ...args], {
      timeoutMs,
      env: { STOWAGE_BENCH_MEMORY: file },
    });
    return { ...finished, maxRssMb: readMemory(file) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readMemory(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) / 1024;
  } catch {
    return undefined; // killed before it could say
  }
}

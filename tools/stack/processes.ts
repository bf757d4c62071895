import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A process of the stack. Its start time, where there is /proc, distinguishes it from a later process with the same pid. */
export interface ProcessRecord {
  pid: number;
  startTime?: string;
}

/** Starts a program in a new session, so that it outlives the starter, with its output in `log`. */
export function launch(
  command: string,
  args: readonly string[],
  options: { log: string; cwd: string; env?: Record<string, string> },
): ProcessRecord {
  const log = openSync(options.log, 'a');
  try {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', log, log],
      detached: true,
    });
    // A program that cannot be started has no pid; the reason arrives as an event.
    child.on('error', () => undefined);
    child.unref();
    if (child.pid === undefined) throw new Error(`${command} cannot be started.`);
    const startTime = startTimeOf(child.pid);
    const record = startTime === undefined ? { pid: child.pid } : { pid: child.pid, startTime };
    const records = process.env[launchedProcesses];
    if (records !== undefined) appendFileSync(records, `${JSON.stringify(record)}\n`);
    return record;
  } finally {
    closeSync(log);
  }
}

/** Names the file of what was launched; inherited by the processes that tests run in. */
const launchedProcesses = 'STOWAGE_LAUNCHED_PROCESSES';

/** From now on, what this process and its children launch is stopped when this process has ended, even killed. */
export function stopLaunchedWithThisProcess(): void {
  if (process.env[launchedProcesses] !== undefined) return;
  const records = join(mkdtempSync(join(tmpdir(), 'stowage-launched-')), 'processes');
  writeFileSync(records, '');
  process.env[launchedProcesses] = records;
  const program = fileURLToPath(new URL('stop-launched.js', import.meta.url));
  // The input closes when this process ends, even if it is killed.
  const watcher = spawn(process.execPath, [program, records], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watcher.unref();
  const input: Writable & { unref?(): void } = watcher.stdin;
  input.unref?.();
}

/**
 * Field 22 of /proc/<pid>/stat; undefined where there is no /proc or no such process. A zombie counts as gone once all of its threads are: until then the process holds
 * its ports.
 */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const isGone = fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1;
    return isGone ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

export function isRunning(record: ProcessRecord): boolean {
  if (record.startTime !== undefined) return startTimeOf(record.pid) === record.startTime;
  try {
    process.kill(record.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function signal(record: ProcessRecord, name: NodeJS.Signals): void {
  if (!isRunning(record)) return;
  try {
    process.kill(record.pid, name);
  } catch {
    // It ended in between.
  }
}

/** SIGTERM, then SIGKILL after `graceMs`. Resolves when the process is gone. */
export async function stopProcess(record: ProcessRecord, graceMs: number): Promise<void> {
  signal(record, 'SIGTERM');
  const killAt = Date.now() + graceMs;
  let killed = false;
  while (isRunning(record)) {
    if (!killed && Date.now() >= killAt) {
      signal(record, 'SIGKILL');
      killed = true;
    }
    await sleep(20);
  }
}

/** The last lines of a log, for messages. */
export function tailOf(log: string, lines = 15): string {
  try {
    return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '(no log)';
  }
}

/**
 * Polls `condition` until it holds. Rejects when the process ends or `timeoutMs` passes, with the end of its log.
 */
export async function waitUntilReady(
  what: string,
  record: ProcessRecord,
  log: string,
  condition: () => Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const begun = Date.now();
  const deadline = begun + timeoutMs;
  for (;;) {
    if (await condition().catch(() => false)) return;
    if (!isRunning(record)) throw new Error(`${what} ended before it was ready; the end of ${log}:\n${tailOf(log)}`);
    if (Date.now() > deadline) {
      throw new Error(`${what} was not ready after ${timeoutMs / 1000}s; the end of ${log}:\n${tailOf(log)}`);
    }
    await sleep(pauseAfter(Date.now() - begun));
  }
}

/** Milliseconds. A poll takes processor time from what it waits for: at the API server it is a new connection. */
const pauseAfter = (waitedMs: number): number => Math.min(Math.max(waitedMs / 10, 50), 500);

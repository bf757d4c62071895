import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const longestMs = 15 * 60_000;

/** Runs a program; gives what it printed, or rejects with what it said. */
export async function run(
  command: string,
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      ...options,
      env: { ...process.env, ...options.env },
      encoding: 'utf8',
      maxBuffer: 64 << 20,
      timeout: longestMs,
    });
    return stdout;
  } catch (error) {
    const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
    const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-25).join('\n');
    throw new Error(`${[command, ...args].join(' ').slice(0, 300)} failed:\n${said}`, { cause: error });
  }
}

/**
 * Removes a folder in which containers ran, and what they left mounted. Layers of images have hundreds of thousands of files, which would
 * take minutes to remove from here one by one.
 */
export async function removeFolder(folder: string): Promise<void> {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const below = mounts.map((line) => line.split(' ')[1] ?? '').filter((mount) => mount.startsWith(`${folder}/`));
  for (const mount of below.reverse()) await run('umount', ['--lazy', mount]);
  await run('rm', ['-rf', '--one-file-system', folder]);
}

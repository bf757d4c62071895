import { execFile } from 'node:child_process';
import type { CommandName } from '../../cli/command-texts.js';
import { failureOf } from '../../cli/failure.js';
import { liveCommands } from '../../cli/live-commands.js';
import { printable } from '../../core/text.js';
import { messageOf } from '../../core/error-message.js';
import type { LiveWorld } from '../live/world.js';

export interface Said {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

type Reached = Pick<LiveWorld, 'stack'>;

/** Of a person: orders need rights that Stowage itself has not (authorization/orders). */
export const environmentOf = ({ stack }: Reached): NodeJS.ProcessEnv => ({
  ...process.env,
  ...stack.environment,
  KUBECONFIG: stack.adminKubeconfig ?? '',
});

/** The stowage command, as a person runs it. */
export function stowage(world: Reached, ...args: string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/stowage', ...args], { env: environmentOf(world) }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) }),
    );
  });
}

/**
 * What a command on a live cluster says and how it ends, as the program does (cli/main.ts), without the start of one: for the many that are refused. One
 * at a time: what the process says on the standard error meanwhile is the command's. The process has the environment of a person (`environmentOf`).
 */
export async function saidHere(name: string, ...args: string[]): Promise<Said> {
  const command = await liveCommands.get(name as CommandName)?.();
  if (command === undefined) throw new Error(`stowage ${name} is no command on a live cluster`);
  const write = process.stderr.write.bind(process.stderr);
  let stderr = '';
  process.stderr.write = (text: string | Uint8Array): boolean => {
    stderr += String(text);
    return true;
  };
  try {
    return { stdout: printable(await command.run(args)), stderr, code: 0 };
  } catch (error) {
    const { status, said } = failureOf(error);
    return { stdout: '', stderr: stderr + said, code: status };
  } finally {
    process.stderr.write = write;
  }
}

/**
 * What a command on a live cluster prints, or why it does not, without the start of a program: for looking again and again. The process has the environment
 * of a person (`environmentOf`).
 */
export async function stowageHere(name: CommandName, ...args: string[]): Promise<string> {
  const command = await liveCommands.get(name)?.();
  if (command === undefined) throw new Error(`stowage ${name} is no command on a live cluster`);
  return command.run(args).catch(messageOf);
}

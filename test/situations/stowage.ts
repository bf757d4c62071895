import { execFile } from 'node:child_process';
import type { CommandName } from '../../cli/command-texts.js';
import { liveCommands } from '../../cli/live-commands.js';
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
 * What a command on a live cluster prints, or why it does not, without the start of a program: for looking again and again. The process has the environment
 * of a person (`environmentOf`).
 */
export async function stowageHere(name: CommandName, ...args: string[]): Promise<string> {
  const command = await liveCommands.get(name)?.();
  if (command === undefined) throw new Error(`stowage ${name} is no command on a live cluster`);
  return command.run(args).catch(messageOf);
}

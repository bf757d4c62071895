import { execFile } from 'node:child_process';
import { status } from '../../cli/status.js';
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
 * What `stowage status` prints, without the start of a program: for looking again and again. The process has the environment of a person
 * (`environmentOf`).
 */
export const statusHere = (...args: string[]): Promise<string> => status(args).catch(messageOf);

import { execFile } from 'node:child_process';
import type { LiveWorld } from '../live/world.js';

export interface Said {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** The stowage command, as a person runs it. */
export function stowage({ stack }: Pick<LiveWorld, 'stack'>, ...args: string[]): Promise<Said> {
  // Orders need rights that Stowage itself has not (authorization/orders).
  const env = { ...process.env, ...stack.environment, KUBECONFIG: stack.adminKubeconfig ?? '' };
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/stowage', ...args], { env }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) }),
    );
  });
}

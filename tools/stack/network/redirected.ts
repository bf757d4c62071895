import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from '../stack.js';

export const portOf = (url: string | undefined): number => Number(new URL(url ?? '').port);

/** The kubeconfig of Stowage, to an API server that is reached at `server`. */
export function kubernetesThrough(stack: Stack, server: string): string {
  const path = join(stack.folder, 'network.kubeconfig');
  const text = readFileSync(stack.stowageKubeconfig ?? '', 'utf8');
  writeFileSync(path, text.replaceAll(stack.apiserver ?? '', server), { mode: 0o600 });
  return path;
}

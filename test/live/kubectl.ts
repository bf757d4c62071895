import { execFile } from 'node:child_process';
import type { Stack } from '../../tools/stack/stack.js';

type Reached = Pick<Stack, 'kubectl' | 'adminKubeconfig'>;

/** Runs kubectl as the stack's administrator, with a List of `items` on its standard input. Rejects with what it printed. */
export function kubectl(stack: Reached, args: readonly string[], items?: readonly object[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const all = ['--kubeconfig', stack.adminKubeconfig ?? '', ...args];
    const child = execFile(stack.kubectl ?? '', all, (error) => {
      if (error === null) resolve();
      else reject(new Error(error.message));
    });
    if (items !== undefined) child.stdin?.end(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  });
}

/** Applies objects of any kind, as a person does. */
export const apply = (stack: Reached, items: readonly object[]): Promise<void> =>
  kubectl(stack, ['apply', '-f', '-'], items);

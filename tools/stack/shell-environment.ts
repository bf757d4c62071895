import { dirname } from 'node:path';
import { environmentOf } from './stack.js';
import type { StackState } from './stack-state.js';

/** What a shell evaluates to work with the stack: its addresses, and its kubectl and temporal before any others. */
export function shellLines(state: Pick<StackState, 'cluster' | 'region' | 'endpoints'>): string[] {
  const { adminKubeconfig, kubectl, temporal } = state.endpoints;
  // A person at a shell is the cluster's administrator; Stowage itself runs with its own few rights.
  const environment = {
    ...environmentOf(state),
    ...(adminKubeconfig !== undefined && { KUBECONFIG: adminKubeconfig }),
  };
  const programs = [kubectl, temporal].flatMap((program) => (program === undefined ? [] : [`'${dirname(program)}'`]));
  return [
    ...Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`),
    ...(programs.length === 0 ? [] : [`export PATH=${programs.join(':')}:"$PATH"`]),
  ];
}

import { removePostgresql } from './postgresql.js';
import { isRunning, stopProcess } from './processes.js';
import { readState, withStackLock, writeState } from './stack-state.js';

// Apart from what starts a stack (stack.ts), which loads the clients of the whole cloud: who only ends one needs none of them.

/** Stops every process of the stack in `folder`, latest first, by its pid. Returns how many ran. */
export async function stopStack(folder: string, progress: (line: string) => void = () => undefined): Promise<number> {
  return withStackLock(folder, async () => {
    const state = readState(folder);
    if (state === undefined) return 0;
    const running = state.components.filter(isRunning);
    for (const component of running.toReversed()) {
      await stopProcess(component, graceOf(component.name));
      progress(`stopped ${component.name} (pid ${component.pid})`);
    }
    writeState({ ...state, components: [] });
    removePostgresql({ folder });
    return running.length;
  });
}

/** How long a component may take to stop before it is killed, milliseconds. */
export const graceOf = (name: string): number => (name === 'kube-apiserver' ? 1000 : 5000);

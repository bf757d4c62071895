import { condition } from '@temporalio/workflow';
import { setSignalHandler, setUpdateHandler } from '../../workflows/handlers.js';
import { approveSignal, approveUpdate, clusterChangedSignal, nodeChangedSignal } from '../../workflows/messages.js';

/** A workflow for tests of whose orders are taken: gives the actors of those that it obeyed, once a node has changed. */
export async function obey(): Promise<readonly string[]> {
  const actors: string[] = [];
  let over = false;
  setSignalHandler(approveSignal, ({ actor }) => void actors.push(actor));
  setUpdateHandler(approveUpdate, ({ actor }) => {
    actors.push(actor);
    return { phase: 'obeyed', facts: {} };
  });
  setSignalHandler(clusterChangedSignal, () => undefined);
  setSignalHandler(nodeChangedSignal, () => void (over = true));
  await condition(() => over);
  return actors;
}

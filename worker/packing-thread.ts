import { parentPort } from 'node:worker_threads';
import { partsOf, type Part } from './answers.js';
import { jobs } from './packing-jobs.js';
import type { Job } from './packing-jobs.js';
import { SnapshotKeeper } from './snapshots.js';
import type { Snapshot, SnapshotMessage } from './snapshots.js';
import { warmUp, type Duty } from './warm-up.js';

// The thread's half of packing-pool.ts.

type Message =
  | SnapshotMessage
  | { readonly kind: 'job'; readonly id: number; readonly job: Job; readonly snapshot: Snapshot }
  | { readonly kind: 'next'; readonly id: number }
  | { readonly kind: 'warmUp'; readonly duty: Duty };

const keeper = new SnapshotKeeper();
/** By job, the parts of its result that are still to be asked for. */
const answers = new Map<number, Iterator<Part>>();

parentPort?.on('message', (message: Message) => {
  switch (message.kind) {
    case 'job':
      answer(message.id, () => {
        const { id, job, snapshot } = message;
        answers.set(id, partsOf(job, jobs[job](keeper.restore(snapshot) as never)));
      });
      break;
    case 'next':
      answer(message.id, () => undefined);
      break;
    case 'warmUp':
      warm(warmUp(message.duty));
      break;
    default:
      keeper.take(message);
  }
});

function answer(id: number, work: () => void): void {
  try {
    work();
    const part: Part = answers.get(id)!.next().value as Part;
    if (part.kind === 'result') answers.delete(id);
    parentPort?.postMessage({ id, part });
  } catch (error) {
    answers.delete(id);
    parentPort?.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

/** One small solve a turn, so that no job waits for more than one. */
function warm(solves: Iterator<unknown>): void {
  if (solves.next().done === true) parentPort?.postMessage({ kind: 'warm' });
  else setImmediate(() => warm(solves));
}

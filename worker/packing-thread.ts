import { parentPort, workerData } from 'node:worker_threads';
import { answerPartsOf, type AnswerPart } from './answers.js';
import { jobs } from './packing-jobs.js';
import type { Job, JobResult } from './packing-jobs.js';
import { SnapshotReceiver } from './snapshots.js';
import type { Snapshot, SnapshotMessage } from './snapshots.js';

// The thread's side of job-thread.ts.

type Message =
  | SnapshotMessage
  | { readonly kind: 'job'; readonly id: number; readonly job: Job; readonly snapshot: Snapshot }
  | { readonly kind: 'next'; readonly id: number };

const receiver = new SnapshotReceiver();
/** Jobs with a number below this have to end. */
const { over } = workerData as { readonly over: Int32Array };
/** By job: the parts of its result that were not requested yet. */
const answers = new Map<number, Iterator<AnswerPart>>();

parentPort?.on('message', (message: Message) => {
  switch (message.kind) {
    case 'job':
      answer(message.id, () => {
        const { id, job, snapshot } = message;
        const isOver = (): boolean => Atomics.load(over, 0) > id;
        const work = jobs[job] as (input: never, isOver: () => boolean) => JobResult<Job>;
        answers.set(id, answerPartsOf(job, work(receiver.restore(snapshot) as never, isOver)));
      });
      break;
    case 'next':
      answer(message.id, () => undefined);
      break;
    default:
      receiver.take(message);
  }
});

function answer(id: number, work: () => void): void {
  try {
    work();
    const part: AnswerPart = answers.get(id)!.next().value as AnswerPart;
    if (part.kind === 'result') answers.delete(id);
    parentPort?.postMessage({ id, part });
  } catch (error) {
    answers.delete(id);
    parentPort?.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

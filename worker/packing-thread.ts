import { parentPort } from 'node:worker_threads';
import { jobs } from './packing-jobs.js';
import type { Job } from './packing-jobs.js';

// The thread's half of packing-pool.ts.
parentPort?.on('message', ({ id, job, input }: { id: number; job: Job; input: never }) => {
  try {
    parentPort?.postMessage({ id, result: jobs[job](input) });
  } catch (error) {
    parentPort?.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

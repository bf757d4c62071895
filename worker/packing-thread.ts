import { parentPort } from 'node:worker_threads';
import { plan } from '../packing/plan.js';
import type { PackingInput } from '../packing/types.js';

// The thread's half of packing-pool.ts.
parentPort?.on('message', ({ id, input }: { id: number; input: PackingInput }) => {
  try {
    parentPort?.postMessage({ id, plan: plan(input) });
  } catch (error) {
    parentPort?.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

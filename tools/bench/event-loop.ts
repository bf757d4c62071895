import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { silentLog, silentMetrics } from '../../test/simulation/silent.js';
import { packingInputOfFiles } from '../../cli/plan.js';
import { PackingPool } from '../../worker/packing-pool.js';
import { writeCase } from './case-files.js';
import { generate } from '../../test/cases/index.js';

// How long packing in a thread holds up the event loop of the worker: node dist/tools/bench/event-loop.js [pods]

const size = Number(process.argv[2] ?? 100_000);
const folder = mkdtempSync(join(tmpdir(), 'stowage-bench-'));
const files = writeCase(folder, generate('realistic', size, 1));
const input = packingInputOfFiles({
  objects: [files.objects],
  catalogue: files.catalogue,
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
});
rmSync(folder, { recursive: true });

/** Milliseconds that this thread has computed: on a busy machine the clock counts the others' work too. */
function computed(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/** The longest that the event loop's thread computes from one turn to the next. */
function watchTurns(): () => number {
  let last = computed();
  let most = 0;
  const timer = setInterval(() => {
    const now = computed();
    most = Math.max(most, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return Math.max(most, computed() - last);
  };
}

const pool = new PackingPool(1, silentLog, silentMetrics);
const changed = { ...input, objects: { ...input.objects, pods: input.objects.pods.slice(size / 100) } };
const passes = [
  ['the first pass', input],
  ['the same again', input],
  ['without 1% of the pods', changed],
] as const;
for (const [name, pass] of passes) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const longestTurn = watchTurns();
  const started = performance.now();
  const plan = await pool.plan(pass);
  const took = performance.now() - started;
  // The histogram learns of a stall when the loop goes on.
  await new Promise((resolve) => setTimeout(resolve, 10));
  delay.disable();
  const turn = longestTurn();
  const ms = (nanoseconds: number): string => (nanoseconds / 1e6).toFixed(1);
  process.stdout.write(
    `${size} pods, ${name}: ${took.toFixed(0)} ms for ${plan.newNodeClaims.length} nodes; ` +
      `event loop delayed ${ms(delay.percentile(99))} ms at the 99th percentile, ${ms(delay.max)} ms at most, ` +
      `of which ${turn.toFixed(1)} ms of its own work\n`,
  );
}
await pool.close();

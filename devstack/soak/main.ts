import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { Random } from '../../cases/random.js';
import { createNarrator } from '../demo/narrator.js';
import { onStage, type Stage, type StageOptions } from '../stage.js';
import { failedWorkflows, untilCalm, untilEmpty } from './calm.js';
import { nextEvent } from './events.js';
import { apps, createWorkload, scale, stopAging } from './workload.js';
import { messageOf } from '../../core/error-message.js';

interface SoakOptions extends StageOptions {
  readonly seed: number;
  readonly minutes: number;
}

const longestPauseMs = 9000;

async function soak(stage: Stage, { seed, minutes }: SoakOptions): Promise<void> {
  const { kube, stack, cloud, tell } = stage;
  tell.chapter(`${minutes} minutes of everything at once (seed ${seed})`);
  await createWorkload(kube, stack);
  const random = new Random(seed);
  const end = Date.now() + minutes * 60_000;
  while (Date.now() < end) {
    const happened = await nextEvent(stage, random);
    if (happened !== undefined) tell.act(happened);
    await sleep(random.int(500, longestPauseMs));
  }

  tell.chapter('Then nothing more happens');
  await cloud.clearFaults();
  for (const [name, { last }] of Object.entries(apps)) await scale(kube, name, last);
  await untilCalm(stage);
  tell.see('every pod runs, nothing is on its way out, each instance has its one NodeClaim and Node');
  await stopAging(kube);
  for (const name of Object.keys(apps)) await scale(kube, name, 0);
  await untilEmpty(stage);
  tell.see('without pods no node, no NodeClaim and no instance is left');
  const failed = await failedWorkflows(stage);
  if (failed.length > 0) throw new Error(`Workflows that did not end as they should: ${failed.join(', ')}`);
  tell.see('no workflow failed');
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0 is wanted');
  return value;
}

const options = new Command('soak')
  .description(
    'Scales, drifts, interrupts, loses and breaks things at random on a real local stack, kills Stowage meanwhile, and looks whether everything comes to rest.',
  )
  .option('--seed <number>', 'the same seed picks the same events', positive, 1)
  .option('--minutes <number>', 'how long things happen', positive, 5)
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'soak')
  .parse()
  .opts<SoakOptions>();

try {
  await onStage(options, createNarrator(), (stage) => soak(stage, options));
} catch (error) {
  process.stderr.write(`\nThe soak failed: ${messageOf(error)}\n`);
  process.exitCode = 1;
}

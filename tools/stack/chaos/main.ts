import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { Random } from '../../../test/cases/random.js';
import { messageOf } from '../../../core/error-message.js';
import { Auditor } from '../auditor/auditor.js';
import { surroundings as parts } from '../components.js';
import { createNarrator } from '../demo/narrator.js';
import { observe } from '../demo/observe.js';
import { onStage, type Stage, type StageOptions } from '../stage.js';
import { nextEvent } from './events.js';
import { Surroundings } from './surroundings.js';
import type { ChaosStage } from './troubles.js';
import { apps, createWorkload, scale, stopAging } from './workload.js';

interface ChaosOptions extends StageOptions {
  readonly seed: number;
  readonly minutes: number;
}

const longestPauseMs = 7000;
const minuteMs = 60_000;
const restMs = 15 * minuteMs;

async function chaos(stage: Stage, options: ChaosOptions): Promise<void> {
  const { kube, stack, narrator } = stage;
  await createWorkload(kube, stack);
  const auditor = new Auditor(stage);
  await auditor.start();
  const surroundings = await Surroundings.start(stack, {});
  narrator.see('two operators and two workers are ready');
  try {
    await unrest({ ...stage, surroundings }, auditor, options);
    await surroundings.recover();
    await rest(stage, auditor, () => surroundings.failure());
    const problems = await auditor.verdict();
    if (problems.length > 0) throw new Error(problems.join('\n'));
    narrator.see('no invariant was broken at any time, and no workflow failed');
  } finally {
    await auditor.stop();
    await surroundings.stop();
  }
}

/** Things happen and go wrong, until the time is over or an invariant is broken. */
async function unrest(stage: ChaosStage, auditor: Auditor, { seed, minutes }: ChaosOptions): Promise<void> {
  const { narrator } = stage;
  narrator.chapter(`${minutes} minutes of everything at once (seed ${seed})`);
  const random = new Random(seed);
  const end = Date.now() + minutes * minuteMs;
  while (Date.now() < end) {
    // Clients of the run itself fail during an outage of the API server, too.
    const happened = await nextEvent(stage, random).catch((error: unknown) => `could not: ${messageOf(error)}`);
    if (happened !== undefined) narrator.act(happened);
    if (auditor.problems.length > 0) throw new Error(auditor.problems.join('\n'));
    const failure = stage.surroundings.failure();
    if (failure !== undefined) throw failure;
    await sleep(random.int(500, longestPauseMs));
  }
}

/** Nothing goes wrong any more: every pod runs; and without pods nothing is left. */
async function rest(
  { kube, cloud, narrator }: Stage,
  auditor: Auditor,
  failure: () => Error | undefined,
): Promise<void> {
  narrator.chapter('Then nothing more happens');
  await cloud.clearFaults();
  await cloud.setPools([]);
  await stopAging(kube);
  for (const [name, { last }] of Object.entries(apps)) await scale(kube, name, last);
  await auditor.untilRest(restMs, failure);
  narrator.see('every pod runs, nothing is on its way out, each instance has its one NodeClaim and Node');
  for (const name of Object.keys(apps)) await scale(kube, name, 0);
  await observe(
    'An empty cluster',
    async () => (await kube.list('NodeClaim')).length === 0,
    { withinMs: restMs, failure },
    async () => JSON.stringify(await kube.list('NodeClaim')),
  );
  await auditor.untilRest(restMs, failure);
  narrator.see('without pods no node, no NodeClaim and no instance is left');
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0 is wanted');
  return value;
}

const options = new Command('chaos')
  .description(
    'Scales, drifts, interrupts, loses and breaks things at random on a real local stack with two operators and two workers; kills and freezes these, Temporal, kube-apiserver and etcd; cuts and slows networks. An auditor watches, and everything has to come to rest.',
  )
  .option('--seed <number>', 'the same seed picks the same events', positive, 1)
  .option('--minutes <number>', 'how long things happen', positive, 5)
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'chaos')
  .parse()
  .opts<ChaosOptions>();

try {
  await onStage({ ...options, parts }, createNarrator(), (stage) => chaos(stage, options));
} catch (error) {
  process.stderr.write(`\nChaos with seed ${options.seed} found: ${messageOf(error)}\n`);
  process.exitCode = 1;
}

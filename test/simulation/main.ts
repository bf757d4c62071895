import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { workflowBundle } from '../../worker/bundle.js';
import { perturbationsOf } from './cluster/perturbations.js';
import { replicasFor } from './cluster/pools.js';
import { simulate } from './cluster/simulate.js';
import type { SimulationResult } from './cluster/simulate.js';
import { shrink } from './cluster/shrink.js';
import type { Play, Shrunk } from './cluster/shrink.js';
import type { SimulationPlan } from './cluster/stage.js';
import { Totals } from './cluster/totals.js';

interface SimulateCommand {
  readonly seeds: number;
  readonly firstSeed: number;
  readonly minutes: number;
  readonly days?: number;
  readonly replicas: number;
  readonly nodes?: number;
  readonly processes: number;
  readonly pace: number;
  readonly faults: number;
  readonly leaveOut?: ReadonlySet<number>;
  readonly only?: RegExp;
  readonly withoutFaults: boolean;
  readonly perturb: number;
  readonly heal: number;
  readonly shrink: boolean;
  readonly verbose: boolean;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number that is not negative is wanted');
  return Number(text);
}

function percentage(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 100)) throw new InvalidArgumentError('a number of 0 to 100 is wanted'); // prettier-ignore
  return value;
}

function expression(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

const counts = (text: string): ReadonlySet<number> => new Set(text.split(',').map(count));

const values = new Command('simulate')
  .description(
    'Plays Stowage on a simulated Kubernetes, cloud and Temporal in virtual time, with faults that a seed decides; exits with 1 where a seed broke an invariant.',
  )
  .option('--seeds <number>', 'how many seeds to play', count, 10)
  .option('--first-seed <number>', 'the first of them', count, 1)
  .option('--minutes <number>', 'simulated minutes in which things happen', count, 60)
  .option('--days <number>', 'simulated days, in place of minutes', count)
  .option('--replicas <number>', 'pods of each Deployment at most', count, 10)
  .option(
    '--nodes <number>',
    'as many pods as fill about so many nodes, in place of replicas, a tenth less at times',
    count,
  )
  .option('--processes <number>', 'processes of Stowage, of which one leads', count, 1)
  .option('--pace <seconds>', 'simulated seconds from one happening to the next, on average', count, 300)
  .option('--faults <percent>', 'of calls that fail or lose their answers', percentage, 0.3)
  .option('--leave-out <steps>', 'happenings to leave out, by their numbers: 3,7', counts)
  .option('--only <names>', "what happens, by a regular expression: 'restored|reset|Deployment'", expression)
  .option('--without-faults', 'no call fails', false)
  .option(
    '--perturb <every>',
    'play what passed again, with one fault at every n-th write and event; 0: do not',
    count,
    0,
  )
  .option('--heal <minutes>', 'simulated minutes within which everything has to come to rest', count, 60)
  .option('--shrink', 'find the fewest happenings with which a seed still fails', false)
  .option('--verbose', 'print what happens', false)
  .parse()
  .opts<SimulateCommand>();

/** Plays seeds one after the other; exits with 1 where one of them broke an invariant, and says which. */
async function main(): Promise<number> {
  const bundle = await workflowBundle();
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  const play: Play = (plan) => simulate(plan, code);
  const first = values.firstSeed;
  const totals = new Totals();
  let failed = 0;
  for (let seed = first; seed < first + values.seeds; seed++) {
    const plan = planOf(seed);
    const began = process.hrtime.bigint();
    const result = await play(plan);
    report(result, Number(process.hrtime.bigint() - began) / 1e9);
    totals.add(result);
    if (result.problems.length === 0) {
      if (values.perturb > 0) failed += await perturb(plan, result, play);
      continue;
    }
    failed += 1;
    if (values.shrink) reportShrunk(await shrink(plan, play, (left) => console.error(`  ${left} happenings left`)));
  }
  if (values.seeds > 1) for (const line of totals.lines()) console.log(line);
  console.log(
    failed === 0
      ? 'every seed passed'
      : `${failed} seeds failed: find what it takes with --first-seed SEED --seeds 1 --shrink`,
  );
  return failed === 0 ? 0 : 1;
}

/** Plays what is known to pass again, with one thing that goes wrong at one place each time. Gives how many of them fail. */
async function perturb(plan: SimulationPlan, { traffic }: SimulationResult, play: Play): Promise<number> {
  const perturbations = perturbationsOf(traffic, values.perturb);
  console.log(
    `  ${traffic.writes} writes and ${traffic.events} events of watches: ${perturbations.length} perturbations`,
  );
  let failed = 0;
  for (const perturbation of perturbations) {
    const { problems } = await play({ ...plan, perturbation });
    if (problems.length === 0) continue;
    failed += 1;
    console.log(`  FAILED with ${perturbation.kind} at ${perturbation.at}`);
    for (const problem of problems) console.log(`    ${problem}`);
  }
  console.log(`  ${perturbations.length - failed} of ${perturbations.length} perturbations passed`);
  return failed;
}

function replicasOf({ nodes, replicas }: SimulateCommand): Pick<SimulationPlan, 'replicas' | 'leastReplicas'> {
  if (nodes === undefined) return { replicas };
  const most = replicasFor(nodes);
  return { replicas: most, leastReplicas: Math.round(most * 0.9) };
}

function planOf(seed: number): SimulationPlan {
  return {
    seed,
    unrestMs: values.days === undefined ? values.minutes * minuteMs : values.days * dayMs,
    ...replicasOf(values),
    processes: values.processes,
    paceMs: values.pace * 1000,
    faultChance: values.faults / 100,
    healMs: values.heal * minuteMs,
    restMs: 30 * minuteMs,
    ...(values.leaveOut === undefined ? {} : { leftOut: values.leaveOut }),
    ...(values.only === undefined ? {} : { only: values.only }),
    withoutFaults: values.withoutFaults,
    ...(values.verbose ? { say: (line: string) => console.log(line) } : {}),
  };
}

function report({ seed, problems, simulatedMs, faults, launches, steps }: SimulationResult, seconds: number): void {
  const figures = `${(simulatedMs / 3_600_000).toFixed(1)} h, ${faults} faults, ${launches} launches, ${steps} steps, ${seconds.toFixed(1)} s`;
  console.log(`seed ${seed}: ${problems.length === 0 ? 'passed' : 'FAILED'} (${figures})`);
  for (const problem of problems) console.log(`  ${problem}`);
}

const sizeText = (): string =>
  [
    values.days === undefined ? `--minutes ${values.minutes}` : `--days ${values.days}`,
    values.nodes === undefined ? `--replicas ${values.replicas}` : `--nodes ${values.nodes}`,
  ].join(' ');

function reportShrunk({ plan, result, played }: Shrunk): void {
  console.log(
    `  after ${played} runs, what it takes${plan.withoutFaults === true ? ', without faults of calls' : ''}:`,
  );
  for (const { atMs, name, step } of result.happened) {
    console.log(`  ${(atMs / 1000).toFixed(0).padStart(7)} s  step ${step}: ${name}`);
  }
  for (const problem of result.problems) console.log(`  ${problem}`);
  console.log(
    `  as a script: ${JSON.stringify(result.happened.map(({ atMs, draw, name }) => ({ atMs, draw, name })))}`,
  );
  const flags = [
    `--first-seed ${plan.seed} --seeds 1 ${sizeText()} --processes ${values.processes} --pace ${values.pace} --faults ${values.faults} --heal ${values.heal}`,
    ...(values.only === undefined ? [] : [`--only '${values.only.source}'`]),
    ...(plan.withoutFaults === true ? ['--without-faults'] : []),
    ...((plan.leftOut?.size ?? 0) > 0 ? [`--leave-out ${[...plan.leftOut!].join(',')}`] : []),
  ];
  console.log(`  again: npm run simulate -- ${flags.join(' ')}`);
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error);
    process.exit(2);
  },
);

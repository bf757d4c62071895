import { parseArgs } from 'node:util';
import { readFileSync } from 'node:fs';
import { workflowBundle } from '../worker/bundle.js';
import { perturbationsOf } from './cluster/perturbations.js';
import { simulate } from './cluster/simulate.js';
import type { SimulationResult } from './cluster/simulate.js';
import { shrink } from './cluster/shrink.js';
import type { Play, Shrunk } from './cluster/shrink.js';
import type { SimulationPlan } from './cluster/stage.js';

const usage =
  'npm run simulate -- [--seeds N] [--first-seed S] [--minutes M] [--replicas R] [--pace SECONDS] [--faults PERCENT] [--leave-out STEP,...] [--without-faults] [--perturb EVERY] [--shrink] [--verbose]';
const minuteMs = 60_000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10' },
    'first-seed': { type: 'string', default: '1' },
    minutes: { type: 'string', default: '60' },
    replicas: { type: 'string', default: '10' },
    pace: { type: 'string', default: '300' },
    faults: { type: 'string', default: '0.3' },
    'leave-out': { type: 'string', default: '' },
    'without-faults': { type: 'boolean', default: false },
    perturb: { type: 'string', default: '0' },
    shrink: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});

/** Plays seeds one after the other; exits with 1 where one of them broke an invariant, and says which. */
async function main(): Promise<number> {
  const bundle = await workflowBundle();
  const code = 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
  const play: Play = (plan) => simulate(plan, code);
  const first = number('first-seed');
  let failed = 0;
  for (let seed = first; seed < first + number('seeds'); seed++) {
    const plan = planOf(seed);
    const began = process.hrtime.bigint();
    const result = await play(plan);
    report(result, Number(process.hrtime.bigint() - began) / 1e9);
    if (result.problems.length === 0) {
      if (number('perturb') > 0) failed += await perturb(plan, result, play);
      continue;
    }
    failed += 1;
    if (values.shrink) reportShrunk(await shrink(plan, play, (left) => console.error(`  ${left} happenings left`)));
  }
  console.log(
    failed === 0
      ? 'every seed passed'
      : `${failed} seeds failed: find what it takes with --first-seed SEED --seeds 1 --shrink`,
  );
  return failed === 0 ? 0 : 1;
}

/** Plays what is known to pass again, with one thing that goes wrong at one place each time. Gives how many of them fail. */
async function perturb(plan: SimulationPlan, { traffic }: SimulationResult, play: Play): Promise<number> {
  const perturbations = perturbationsOf(traffic, number('perturb'));
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

function planOf(seed: number): SimulationPlan {
  const leftOut = new Set(
    values['leave-out']
      .split(',')
      .filter((text) => text !== '')
      .map(Number),
  );
  return {
    seed,
    unrestMs: number('minutes') * minuteMs,
    replicas: number('replicas'),
    paceMs: number('pace') * 1000,
    faultChance: number('faults') / 100,
    healMs: 60 * minuteMs,
    restMs: 30 * minuteMs,
    leftOut,
    withoutFaults: values['without-faults'],
    ...(values.verbose ? { say: (line: string) => console.log(line) } : {}),
  };
}

function number(name: 'seeds' | 'first-seed' | 'minutes' | 'replicas' | 'pace' | 'faults' | 'perturb'): number {
  const value = Number(values[name]);
  if (value >= 0 && (Number.isInteger(value) || name === 'faults')) return value;
  throw new Error(`--${name} is "${values[name]}": a number that is not negative is needed`);
}

function report({ seed, problems, simulatedMs, faults, launches, steps }: SimulationResult, seconds: number): void {
  const figures = `${(simulatedMs / 3_600_000).toFixed(1)} h, ${faults} faults, ${launches} launches, ${steps} steps, ${seconds.toFixed(1)} s`;
  console.log(`seed ${seed}: ${problems.length === 0 ? 'passed' : 'FAILED'} (${figures})`);
  for (const problem of problems) console.log(`  ${problem}`);
}

function reportShrunk({ plan, result, played }: Shrunk): void {
  console.log(
    `  after ${played} runs, what it takes${plan.withoutFaults === true ? ', without faults of calls' : ''}:`,
  );
  for (const { atMs, name, step } of result.happened) {
    console.log(`  ${(atMs / 1000).toFixed(0).padStart(7)} s  step ${step}: ${name}`);
  }
  for (const problem of result.problems) console.log(`  ${problem}`);
  const flags = [
    `--first-seed ${plan.seed} --seeds 1 --minutes ${values.minutes} --replicas ${values.replicas} --pace ${values.pace} --faults ${values.faults}`,
    ...(plan.withoutFaults === true ? ['--without-faults'] : []),
    ...((plan.leftOut?.size ?? 0) > 0 ? [`--leave-out ${[...plan.leftOut!].join(',')}`] : []),
  ];
  console.log(`  again: npm run simulate -- ${flags.join(' ')}`);
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error, `\n${usage}`);
    process.exit(2);
  },
);

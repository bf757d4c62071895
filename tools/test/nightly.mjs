// npm run nightly [-- --seeds 1000] [--only STEP[,STEP...]]: what takes hours. Each night plays seeds that no night before has played; what fails is
// said at the end, with what failed before it done all the same.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { chosenIn, namedIn } from './choose.mjs';
import { runSteps } from './run.mjs';

const dayMs = 86_400_000;
/** Apart from the seeds of any other night, and from those that `npm test` plays. */
const seedsOfANight = 100_000;
const night = Math.floor(Date.now() / dayMs);

/** Options of `npm run simulate`, in turn: one process and two, many faults and none. */
const plays = [
  '--minutes 25 --faults 0.5 --pace 25 --replicas 6',
  '--minutes 25 --faults 0.5 --pace 25 --replicas 6 --processes 2',
  '--minutes 25 --faults 2 --pace 40 --replicas 10',
  '--minutes 25 --faults 0 --pace 20 --replicas 6 --processes 2',
];

const simulation = (...args) => ['node', ['--max-semi-space-size=64', 'dist/test/simulation/main.js', ...args]];
const npm = (...args) => ['npm', ['run', '-s', ...args]];

function stepsOf(seeds) {
  const first = night * seedsOfANight;
  const each = Math.ceil(seeds / plays.length);
  const simulate = plays.map((options, n) => ({
    name: `simulate-${n + 1}`,
    run: simulation('--first-seed', String(first + n * each), '--seeds', String(each), ...options.split(' ')),
  }));
  const perturb = {
    name: 'perturb',
    run: simulation(
      ...`--first-seed ${night} --seeds 1 --minutes 5 --pace 60 --replicas 4 --without-faults --perturb 1`.split(' '),
    ),
  };
  const one = (step) => ({ lanes: [[step]], atOnce: 1 });
  return [
    one({ name: 'stack', run: ['node', ['tools/stack/install.mjs', '--tests']], needed: true }),
    one({ name: 'build', run: npm('build'), needed: true }),
    { lanes: [...simulate, perturb].map((step) => [step]), atOnce: availableParallelism() },
    one({
      name: 'fuzz',
      run: [
        'env',
        [
          'STOWAGE_FUZZ_CASES=1000000',
          ...npm('jest', '--', 'test/property/fuzz.test.ts', '--selectProjects', 'property').flat(),
        ],
      ],
    }),
    one({ name: 'crash', run: npm('suite', '--', 'crash', '--points', '300', '--minutes', '30') }),
    one({ name: 'chaos', run: npm('suite', '--', 'chaos', '--minutes', '30', '--seed', String(night)) }),
    one({ name: 'postgres', run: npm('suite', '--', 'postgres') }),
  ];
}

/** The steps that are named, with those that they need. */
function chosenOf(groups, only) {
  if (only === undefined) return groups;
  const isNamed = namedIn(groups, only);
  return chosenIn(groups, (step) => step.needed === true || isNamed(step));
}

function seedsIn(text) {
  if (!/^\d+$/.test(text) || Number(text) < 1 || Number(text) > seedsOfANight)
    throw new Error(`--seeds ${text}: a whole number of 1 to ${seedsOfANight} is wanted`);
  return Number(text);
}

try {
  const { values } = parseArgs({ options: { seeds: { type: 'string', default: '1000' }, only: { type: 'string' } } });
  process.exitCode = (await runSteps(chosenOf(stepsOf(seedsIn(values.seeds)), values.only))) ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}

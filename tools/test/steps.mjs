// The steps of `npm test`, of `npm run test:all`, and of `npm test -- --changed`.
import { existsSync, statSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { root } from '../root.mjs';

/*
 * A step has a `name` and either a command to `run`, or a `project` and `options` of Jest. `needed`: no step can follow its failure. `skip`: it
 * is left out when this returns true. `onRequest`: only `--only` runs it. `again`: it takes real time; files that failed are run once more at the end, alone, to say whether they fail each time.
 * `yields`: it takes the processors that the steps beside it leave, for no condition in it has a short timeout. `part`: `--only` has it by this name too.
 *
 * A group is a list of lanes of which `atOnce` run side by side; a lane is a list of steps that follow one another.
 */

const npm = (...args) => ['npm', args];
const npx = (...args) => ['npx', args];
const jest = (project, ...options) => ({ project, options });
const oneByOne = '--maxWorkers=1';
/** Typed ESLint; the types of many files need more than the 4 GB that Node takes by default. */
const typed = (...args) => ({
  run: [
    process.execPath,
    [
      ...['--max-old-space-size=8192', 'node_modules/eslint/bin/eslint.js'],
      ...['--cache', '--cache-location', 'node_modules/.cache/eslint/', ...args],
    ],
  ],
});

const onServer = [
  'clock',
  'encrypted-payloads',
  'order-policy',
  'renewed-connections',
  'launch-node',
  'provision',
  'takeover-drift',
  'same-histories',
].map((file) => `test/workflow/${file}.test.ts`);

const packages = {
  name: 'packages',
  run: npm('ci', '--no-audit', '--no-fund'),
  skip: packagesAreCurrent,
  needed: true,
};
const build = { name: 'build', run: npm('run', '-s', 'build'), needed: true };

const processors = availableParallelism();
const workers = `--maxWorkers=${processors}`;
const one = (step) => ({ lanes: [[step]], atOnce: 1 });
const sideBySide = (...steps) => ({ lanes: steps.map((step) => [step]), atOnce: processors });

/** Stacks of live tests at a time. Each waits much of its time, and takes 2 GB; the other steps take 8 GB. */
const gigabytes = totalmem() / 2 ** 30;
const stacks = Math.max(1, Math.min(2 * processors, Math.floor((gigabytes - 8) / 2)));

const statics = {
  lint: { name: 'lint', run: npm('run', '-s', 'lint') },
  types: { name: 'types', run: npm('run', '-s', 'typecheck') },
  format: { name: 'format', run: npx('prettier', '--check', '--cache', '--log-level', 'warn', '.') },
  imports: { name: 'imports', run: npm('run', '-s', 'imports') },
  unused: { name: 'unused', run: npm('run', '-s', 'unused') },
  rules: { name: 'rules', run: npm('run', '-s', 'rules') },
};

/** The properties that `npm test` checks; `npm run test:all` checks all. */
const smoke = ['limits', 'planned-claims', 'static-capacity'].map((name) => `test/property/${name}.test.ts`);

/** Groups of `npm test`, which follow one another: what a fresh clone checks in minutes, with Node alone. */
export const quickSteps = [
  one(packages),
  one(build),
  sideBySide(...Object.values(statics)),
  {
    lanes: [
      [{ name: 'unit', ...jest('unit', '--maxWorkers=1') }],
      [
        { name: 'conformance', ...jest('conformance') },
        { name: 'workflow', ...jest('workflow', '--maxWorkers=1') },
        { name: 'replay', ...jest('replay') },
        { name: 'property-smoke', ...jest('property', '--maxWorkers=1', ...smoke) },
      ],
    ],
    atOnce: processors,
  },
  one({ name: 'first-node', run: [process.execPath, ['tools/test/first-node.mjs']] }),
];

/** Groups of `npm run test:all`: what `npm test` leaves out. */
export const allSteps = [
  one(packages),
  one({ name: 'stack', run: [process.execPath, ['tools/stack/install.mjs', '--tests']], needed: true }),
  one(build),
  one({ name: 'workflows', run: [process.execPath, ['tools/build/built-workflows.mjs']] }),
  {
    lanes: [
      // Each file has a stack of its own.
      [{ name: 'live', again: true, ...jest('live', `--maxWorkers=${stacks}`) }],
      [{ name: 'integration-aws', part: 'integration', again: true, ...jest('integration-aws', oneByOne) }],
      [
        { name: 'integration-others', part: 'integration', again: true, ...jest('integration', oneByOne) },
        { name: 'situations', again: true, ...jest('situations') },
      ],
      [
        { name: 'lint-types', yields: true, ...typed('.', '--ignore-pattern', 'test/', '--ignore-pattern', 'tools/') },
        { name: 'lint-types-tests', yields: true, ...typed('test', 'tools') },
        { name: 'property', yields: true, ...jest('property', workers) },
        // Some of them on Temporal's server that skips time too: what the simulated one says is true. `--only workflow-server-all`: all.
        { name: 'workflow-server', again: true, ...jest('workflow-server', workers, ...onServer) },
      ],
    ],
    atOnce: 4,
  },
  one({ name: 'workflow-server-all', onRequest: true, ...jest('workflow-server', workers) }),
];

/** What a change to these files touches and needs no stack: `files` are paths from the root, none of them deleted. */
export function stepsFor(files, since) {
  const sources = files.filter((file) => /\.(ts|mjs)$/.test(file));
  const related = [`--changedSince=${since}`, '--passWithNoTests'];
  return [
    one(packages),
    one(build),
    sideBySide(
      statics.types,
      ...(sources.length === 0 ? [] : [{ name: 'lint-types', run: npx('eslint', ...sources) }]),
      ...(files.length === 0
        ? []
        : [{ name: 'format', run: npx('prettier', '--check', '--ignore-unknown', ...files) }]),
      statics.imports,
      statics.rules,
    ),
    one({ name: 'unit', ...jest('unit', workers, ...related) }),
    one({ name: 'conformance', ...jest('conformance', ...related) }),
    one({ name: 'workflow', ...jest('workflow', workers, ...related) }),
    one({ name: 'replay', ...jest('replay', ...related) }),
  ];
}

function packagesAreCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

// The steps of `npm test`, in order of cost, and those of `npm test -- --changed`.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.mjs';

/*
 * A step has a `name` and either a command to `run`, or a `project` and `options` of jest. `needed`: no step can follow its failure. `skip`: it
 * is left out when this returns true. `onRequest`: only `--only` runs it. `again`: files that failed are run once more, alone.
 */

const npm = (...args) => ['npm', args];
const jest = (project, ...options) => ({ project, options });

const onServer = [
  'clock',
  'encrypted-payloads',
  'renewed-connections',
  'launch-node',
  'provision',
  'takeover-drift',
].map((file) => `test/workflow/${file}.test.ts`);

const packages = {
  name: 'packages',
  run: npm('ci', '--no-audit', '--no-fund'),
  skip: packagesAreCurrent,
  needed: true,
};
const build = { name: 'build', run: npm('run', '-s', 'build'), needed: true };

const one = (step) => [[step]];
const sideBySide = (...steps) => steps.map((step) => [step]);

const statics = {
  types: { name: 'types', run: npm('run', '-s', 'typecheck') },
  imports: { name: 'imports', run: npm('run', '-s', 'imports') },
  rules: { name: 'rules', run: npm('run', '-s', 'rules') },
};

/** Groups, which follow one another, of lanes, which run side by side, of steps. */
export const everyStep = [
  one(packages),
  one({ name: 'stack', run: [process.execPath, ['devstack/install.mjs', '--tests']], needed: true }),
  one(build),
  // Of one thread each.
  sideBySide(
    { name: 'lint', run: npm('run', '-s', 'lint') },
    statics.types,
    { name: 'format', run: npm('run', '-s', 'format:check') },
    statics.imports,
    { name: 'unused', run: npm('run', '-s', 'unused') },
    statics.rules,
  ),
  [
    [
      // One file at a time: they script the faults of one cloud, and wait for it most of their time.
      { name: 'integration', again: true, ...jest('integration', '--runInBand') },
      { name: 'situations', again: true, ...jest('situations') },
    ],
    [
      { name: 'unit', ...jest('unit', '--maxWorkers=2') },
      { name: 'conformance', ...jest('conformance') },
      { name: 'property', ...jest('property', '--maxWorkers=2') },
      { name: 'workflow', ...jest('workflow', '--maxWorkers=2') },
      // Some of them on Temporal's server that skips time too: what the simulated one says is true. `--only workflow-server-all`: all.
      { name: 'workflow-server', again: true, ...jest('workflow-server', '--maxWorkers=2', ...onServer) },
      { name: 'replay', ...jest('replay') },
    ],
  ],
  one({ name: 'workflow-server-all', onRequest: true, ...jest('workflow-server', '--maxWorkers=2') }),
  // Each file has a stack of its own, which takes most of a processor.
  one({ name: 'live', again: true, ...jest('live', '--maxWorkers=2') }),
];

/** What a change to these files touches and needs no stack: `files` are paths from the root, none of them deleted. */
export function stepsFor(files, since) {
  const sources = files.filter((file) => /\.(ts|mjs)$/.test(file));
  const related = ['--changedSince', since, '--passWithNoTests'];
  return [
    one(packages),
    one(build),
    sideBySide(
      statics.types,
      ...(sources.length === 0 ? [] : [{ name: 'lint', run: ['npx', ['eslint', ...sources]] }]),
      ...(files.length === 0
        ? []
        : [{ name: 'format', run: ['npx', ['prettier', '--check', '--ignore-unknown', ...files]] }]),
      statics.imports,
      statics.rules,
    ),
    one({ name: 'unit', ...jest('unit', '--maxWorkers=2', ...related) }),
    one({ name: 'conformance', ...jest('conformance', ...related) }),
    one({ name: 'workflow', ...jest('workflow', '--maxWorkers=2', ...related) }),
    one({ name: 'replay', ...jest('replay', ...related) }),
  ];
}

function packagesAreCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

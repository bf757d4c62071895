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

export const everyStep = [
  packages,
  { name: 'stack', run: [process.execPath, ['devstack/install.mjs', '--tests']], needed: true },
  build,
  // Of one thread each: side by side.
  [
    { name: 'lint', run: npm('run', '-s', 'lint') },
    { name: 'types', run: npm('run', '-s', 'typecheck') },
    { name: 'format', run: npm('run', '-s', 'format:check') },
    { name: 'imports', run: npm('run', '-s', 'imports') },
    { name: 'unused', run: npm('run', '-s', 'unused') },
    { name: 'rules', run: npm('run', '-s', 'rules') },
  ],
  { name: 'unit', ...jest('unit', '--maxWorkers=2') },
  { name: 'conformance', ...jest('conformance') },
  { name: 'property', ...jest('property', '--maxWorkers=2') },
  { name: 'workflow', ...jest('workflow', '--maxWorkers=2') },
  // Some of them on Temporal's server that skips time too: what the simulated one says is true. `--only workflow-server-all`: all.
  { name: 'workflow-server', again: true, ...jest('workflow-server', '--maxWorkers=2', ...onServer) },
  { name: 'workflow-server-all', onRequest: true, ...jest('workflow-server', '--maxWorkers=2') },
  { name: 'replay', ...jest('replay') },
  // One at a time: they script the faults of one cloud.
  { name: 'integration', again: true, ...jest('integration', '--runInBand') },
  // Each file has a stack of its own, which takes most of a processor.
  { name: 'live', again: true, ...jest('live', '--maxWorkers=2') },
];

/** What a change to these files touches and needs no stack: `files` are paths from the root, none of them deleted. */
export function stepsFor(files, since) {
  const sources = files.filter((file) => /\.(ts|mjs)$/.test(file));
  const related = ['--changedSince', since, '--passWithNoTests'];
  return [
    packages,
    build,
    [
      { name: 'types', run: npm('run', '-s', 'typecheck') },
      ...(sources.length === 0 ? [] : [{ name: 'lint', run: ['npx', ['eslint', ...sources]] }]),
      ...(files.length === 0
        ? []
        : [{ name: 'format', run: ['npx', ['prettier', '--check', '--ignore-unknown', ...files]] }]),
      { name: 'imports', run: npm('run', '-s', 'imports') },
      { name: 'rules', run: npm('run', '-s', 'rules') },
    ],
    { name: 'unit', ...jest('unit', '--maxWorkers=2', ...related) },
    { name: 'conformance', ...jest('conformance', ...related) },
    { name: 'workflow', ...jest('workflow', '--maxWorkers=2', ...related) },
    { name: 'replay', ...jest('replay', ...related) },
  ];
}

function packagesAreCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

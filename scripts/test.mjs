// npm test: everything a change must pass, in order of cost, on a fresh clone too.
// Usage: node scripts/test.mjs [--only STEP[,STEP...]]
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const results = mkdtempSync(join(tmpdir(), 'stowage-test-results-'));
const resultsOf = (project) => join(results, `${project}.json`);
const jest = (project, ...more) => [
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    // Crowded machines are slow, not wrong.
    '--testTimeout=180000',
    '--json',
    `--outputFile=${resultsOf(project)}`,
    '--selectProjects',
    project,
    ...more,
  ],
];
const npm = (...args) => ['npm', args];

const steps = [
  { name: 'packages', run: npm('ci', '--no-audit', '--no-fund'), skip: packagesAreCurrent, needed: true },
  { name: 'stack', run: [process.execPath, ['devstack/install.mjs', '--tests']], needed: true },
  { name: 'build', run: npm('run', '-s', 'build'), needed: true },
  { name: 'types', run: npm('run', '-s', 'typecheck') },
  { name: 'lint', run: npm('run', '-s', 'lint') },
  { name: 'format', run: npm('run', '-s', 'format:check') },
  { name: 'imports', run: npm('run', '-s', 'imports') },
  { name: 'unused', run: npm('run', '-s', 'unused') },
  { name: 'unit', run: jest('unit', '--maxWorkers=2') },
  { name: 'property', run: jest('property', '--maxWorkers=2') },
  { name: 'workflow', run: jest('workflow', '--maxWorkers=2') },
  { name: 'replay', run: jest('replay') },
  // One at a time: they script the faults of one cloud.
  { name: 'integration', run: jest('integration', '--runInBand') },
  { name: 'live', run: jest('live', '--maxWorkers=2') },
];

function packagesAreCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function main() {
  const only = process.argv.includes('--only')
    ? process.argv[process.argv.indexOf('--only') + 1].split(',')
    : undefined;
  const started = Date.now();
  const failed = [];
  for (const { name, run, skip, needed } of steps) {
    if (only !== undefined && !only.includes(name)) continue;
    if (skip?.()) continue;
    console.log(`\n── ${name} (${elapsed(started)}) ──`);
    const [command, args] = run;
    const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
    if (status === 0) continue;
    failed.push(name);
    console.error(`── ${name} failed${error === undefined ? '' : `: ${error.message}`} ──`);
    if (needed) break;
  }
  for (const name of failed) for (const line of failuresOf(name)) console.log(line);
  rmSync(results, { recursive: true });
  const verdict = failed.length === 0 ? 'every step passed' : `failed: ${failed.join(', ')}`;
  console.log(`\n── ${verdict} in ${elapsed(started)} ──`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** What failed in a step of jest: each test with the first lines of why, once more at the end where it is found. */
function failuresOf(name) {
  if (!existsSync(resultsOf(name))) return [];
  const { testResults } = JSON.parse(readFileSync(resultsOf(name), 'utf8'));
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name: file, message, assertionResults }) => {
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      const lines = (text) => `      ${text.split('\n').slice(0, 8).join('\n      ')}`;
      return [
        `\n  ${name}: ${file.slice(root.length + 1)}`,
        ...(tests.length === 0 ? [lines(message)] : []),
        ...tests.flatMap(({ fullName, failureMessages }) => [`    ✕ ${fullName}`, lines(failureMessages[0] ?? '')]),
      ];
    });
}

function elapsed(since) {
  const seconds = Math.round((Date.now() - since) / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

main();

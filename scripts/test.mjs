// npm test: everything a change must pass, in order of cost, on a fresh clone too.
// Usage: node scripts/test.mjs [--only STEP[,STEP...]]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
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
const onServer = [
  'clock',
  'encrypted-payloads',
  'renewed-connections',
  'launch-node',
  'provision',
  'takeover-drift',
].map((file) => `test/workflow/${file}.test.ts`);
const npm = (...args) => ['npm', args];

const steps = [
  { name: 'packages', run: npm('ci', '--no-audit', '--no-fund'), skip: packagesAreCurrent, needed: true },
  { name: 'stack', run: [process.execPath, ['devstack/install.mjs', '--tests']], needed: true },
  { name: 'build', run: npm('run', '-s', 'build'), needed: true },
  // Of one thread each: side by side.
  [
    { name: 'lint', run: npm('run', '-s', 'lint') },
    { name: 'types', run: npm('run', '-s', 'typecheck') },
    { name: 'format', run: npm('run', '-s', 'format:check') },
    { name: 'imports', run: npm('run', '-s', 'imports') },
    { name: 'unused', run: npm('run', '-s', 'unused') },
    { name: 'rules', run: npm('run', '-s', 'rules') },
  ],
  { name: 'unit', run: jest('unit', '--maxWorkers=2') },
  { name: 'conformance', run: jest('conformance') },
  { name: 'property', run: jest('property', '--maxWorkers=2') },
  { name: 'workflow', run: jest('workflow', '--maxWorkers=2') },
  // Some of them on Temporal's server that skips time too: what the simulated one says is true. `--only workflow-server-all`: all.
  { name: 'workflow-server', run: jest('workflow-server', '--maxWorkers=2', ...onServer) },
  { name: 'workflow-server-all', run: jest('workflow-server', '--maxWorkers=2'), onRequest: true },
  { name: 'replay', run: jest('replay') },
  // One at a time: they script the faults of one cloud.
  { name: 'integration', run: jest('integration', '--runInBand') },
  // Each file has a stack of its own and waits for half of its time: three keep two processors busy.
  { name: 'live', run: jest('live', '--maxWorkers=2') },
];

function packagesAreCurrent() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

async function main() {
  const only = process.argv.includes('--only')
    ? process.argv[process.argv.indexOf('--only') + 1].split(',')
    : undefined;
  const started = Date.now();
  const failed = [];
  for (const each of steps) {
    const group = [each]
      .flat()
      .filter(({ name, skip, onRequest = false }) => (only?.includes(name) ?? !onRequest) && !skip?.());
    const lost =
      group.length > 1 ? await runTogether(group, started) : group.filter((step) => !runShown(step, started));
    failed.push(...lost.map(({ name }) => name));
    if (lost.some(({ needed }) => needed)) break;
  }
  for (const name of failed) for (const line of failuresOf(name)) console.log(line);
  rmSync(results, { recursive: true });
  const verdict = failed.length === 0 ? 'every step passed' : `failed: ${failed.join(', ')}`;
  console.log(`\n── ${verdict} in ${elapsed(started)} ──`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** Whether the step passed; it is seen at work. */
function runShown({ name, run: [command, args] }, started) {
  console.log(`\n── ${name} (${elapsed(started)}) ──`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  return hasPassed(name, status, error);
}

/** Gives those that failed. As many run at a time as there are processors; what one has to say is shown when it is over. */
async function runTogether(group, started) {
  const waiting = [...group];
  const failed = [];
  const follow = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const { name, run } = step;
      const begun = elapsed(started);
      const { status, error, output } = await heard(...run);
      console.log(`\n── ${name} (${begun} to ${elapsed(started)}) ──\n${output.trimEnd()}`);
      if (!hasPassed(name, status, error)) failed.push(step);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, follow));
  return failed;
}

/** How a command ended, and all that it said. */
function heard(command, args) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => resolve({ status: null, error, output }));
    child.once('close', (status) => resolve({ status, output }));
  });
}

function hasPassed(name, status, error) {
  if (status !== 0) console.error(`── ${name} failed${error === undefined ? '' : `: ${error.message}`} ──`);
  return status === 0;
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

await main();

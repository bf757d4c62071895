// npm test: everything a change must pass, in order of cost, on a fresh clone too.
// Usage: node scripts/test.mjs [--only STEP[,STEP...]]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const jest = (project, ...more) => [
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    // Crowded machines are slow, not wrong.
    '--testTimeout=60000',
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
  // One at a time: the time-skipping test server stalls where others take its cores.
  { name: 'workflow', run: jest('workflow', '--runInBand') },
  { name: 'replay', run: jest('replay') },
  // Side by side: the first shares one stack and goes file by file, the second waits for nodes most of the time.
  { name: 'integration', run: jest('integration', '--runInBand'), beside: 'live' },
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
  const wanted = steps.filter(({ name, skip }) => (only?.includes(name) ?? true) && skip?.() !== true);
  const begun = new Map();
  for (const { name, run, needed, beside } of wanted) {
    console.log(`\n── ${name} (${elapsed(started)}) ──`);
    const other = wanted.find((step) => step.name === beside);
    if (other !== undefined) begun.set(other.name, start(other.run, 'pipe'));
    const { status, output } = await (begun.get(name) ?? start(run, 'inherit'));
    process.stdout.write(output);
    if (status === 0) continue;
    failed.push(name);
    console.error(`── ${name} failed ──`);
    if (needed) break;
  }
  const verdict = failed.length === 0 ? 'every step passed' : `failed: ${failed.join(', ')}`;
  console.log(`\n── ${verdict} in ${elapsed(started)} ──`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** Runs a command; what it prints is shown as it comes, or kept when it is piped. */
async function start([command, args], output) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', output, output] });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
  try {
    const [status] = await once(child, 'close');
    return { status, output: Buffer.concat(chunks) };
  } catch (error) {
    return { status: 1, output: `${command}: ${error.message}\n` };
  }
}

function elapsed(since) {
  const seconds = Math.round((Date.now() - since) / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

await main();

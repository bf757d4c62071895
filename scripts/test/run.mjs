// Runs steps, and what failed in them once more where a step says so.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { failedFiles, failureLines } from './results.mjs';
import { root } from './root.mjs';

/** Runs steps and groups of them in order, and says at the end what failed and why. Returns whether all passed. */
export async function runSteps(steps) {
  const run = {
    started: Date.now(),
    folder: mkdtempSync(join(tmpdir(), 'stowage-test-results-')),
    failed: [],
    unstable: [],
  };
  for (const each of steps) {
    const group = [each].flat();
    const lost = group.length > 1 ? await runTogether(group, run) : group.filter((step) => !runShown(step, run));
    run.failed.push(...lost);
    if (lost.some(({ needed }) => needed)) break;
  }
  tell(run);
  rmSync(run.folder, { recursive: true });
  return run.failed.length === 0;
}

/** Whether the step passed; it is seen at work. */
function runShown(step, run) {
  console.log(`\n── ${step.name} (${elapsed(run)}) ──`);
  const { status, error } = spawnSync(...commandOf(step, run), { cwd: root, stdio: 'inherit' });
  return hasPassed(step.name, status, error) || (step.again === true && passesAlone(step, run));
}

/** Whether the files that failed beside others pass when each is run by itself. What made them fail is still a defect, and is told as one. */
function passesAlone(step, run) {
  const files = failedFiles(resultsOf(step, run)) ?? [];
  if (files.length === 0) return false;
  console.log(`\n── ${step.name} again, what failed and alone (${elapsed(run)}) ──`);
  const again = { ...step, name: `${step.name}-again`, options: ['--runInBand', ...files] };
  const { status, error } = spawnSync(...commandOf(again, run), { cwd: root, stdio: 'inherit' });
  const passed = hasPassed(again.name, status, error);
  if (passed) run.unstable.push(step);
  return passed;
}

/** Gives those that failed. As many run at a time as there are processors; what one has to say is shown when it is over. */
async function runTogether(group, run) {
  const waiting = [...group];
  const failed = [];
  const follow = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const begun = elapsed(run);
      const { status, error, output } = await heard(...commandOf(step, run));
      console.log(`\n── ${step.name} (${begun} to ${elapsed(run)}) ──\n${output.trimEnd()}`);
      if (!hasPassed(step.name, status, error)) failed.push(step);
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

function commandOf(step, run) {
  if (step.project === undefined) return step.run;
  return [
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      // Crowded machines are slow, not wrong.
      '--testTimeout=180000',
      '--json',
      `--outputFile=${resultsOf(step, run)}`,
      ...step.options,
      '--selectProjects',
      step.project,
    ],
  ];
}

const resultsOf = ({ name }, { folder }) => join(folder, `${name}.json`);

function hasPassed(name, status, error) {
  if (status !== 0) console.error(`── ${name} failed${error === undefined ? '' : `: ${error.message}`} ──`);
  return status === 0;
}

function tell(run) {
  const names = (steps) => steps.map(({ name }) => name).join(', ');
  for (const step of [...run.unstable, ...run.failed]) {
    const lines = failureLines(resultsOf(step, run));
    if (lines.length > 0) console.log(`\n── why ${step.name} failed ──`, lines.join('\n'));
  }
  const verdict = run.failed.length === 0 ? 'every step passed' : `failed: ${names(run.failed)}`;
  const unstable =
    run.unstable.length === 0
      ? ''
      : `; UNSTABLE, passed only when run again alone, a defect to find: ${names(run.unstable)}`;
  console.log(`\n── ${verdict}${unstable}; ${elapsed(run)} ──`);
}

function elapsed({ started }) {
  const seconds = Math.round((Date.now() - started) / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

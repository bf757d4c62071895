// Runs steps. Files that failed in steps that take real time are run once more, alone, to say whether they fail each time. They stay failures, except
// with `allowUnstable`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { failedFiles, failureLines, verdictOf } from './results.mjs';
import { root } from '../root.mjs';

/** Most objects of a test live for a moment. With room for them there is less to be collected: a tenth of the processor time of Stowage and of its tests. */
const roomForYoungObjects = '--max-semi-space-size=64';
const environment = {
  ...process.env,
  NODE_OPTIONS: [process.env.NODE_OPTIONS, roomForYoungObjects].filter(Boolean).join(' '),
};

/**
 * Runs groups of steps in order (steps.mjs), and says at the end what failed and why. Returns whether all passed. `allowUnstable`: a step whose failed
 * files pass when they are run again alone has passed; its files are named all the same.
 */
export async function runSteps(groups, { allowUnstable = false } = {}) {
  const run = {
    started: Date.now(),
    folder: mkdtempSync(join(tmpdir(), 'stowage-test-results-')),
    failed: [],
    unstable: [],
    leftOut: [],
  };
  for (const group of groups) {
    await runGroup(group, run);
    if (run.failed.some(({ needed }) => needed)) break;
  }
  for (const step of run.failed.filter(({ again }) => again)) {
    const { passing, rest } = await runAgain(step, run);
    run.unstable.push(...passing);
    if (allowUnstable && passing.length > 0 && rest === 0) run.failed = run.failed.filter((each) => each !== step);
  }
  printFailures(run);
  rmSync(run.folder, { recursive: true });
  return run.failed.length === 0;
}

/** A lane goes on whether its steps pass or not. One that is alone is seen at work; what others have to say is shown step by step. */
async function runGroup({ lanes, atOnce }, run) {
  const execute = lanes.length > 1 ? heard : seen;
  const waiting = [...lanes];
  const follow = async () => {
    for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift())
      for (const step of lane) if (!(await execute(step, run))) run.failed.push(step);
  };
  await Promise.all(Array.from({ length: atOnce }, follow));
}

/** The files that failed beside others and pass when each is run by itself, and how many fail then too. */
async function runAgain(step, run) {
  const files = failedFiles(resultsOf(step, run)) ?? [];
  if (files.length === 0) return { passing: [], rest: 0 };
  const again = { ...step, name: `${step.name}-again`, options: ['--maxWorkers=1', '--runTestsByPath', ...files] };
  const failed = (await seen(again, run)) ? [] : (failedFiles(resultsOf(again, run)) ?? files);
  return { passing: files.filter((file) => !failed.includes(file)), rest: failed.length };
}

/** Runs a step whose words go straight to the terminal. */
async function seen(step, run) {
  console.log(`\n── ${step.name} (${elapsed(run)}) ──`);
  return hasPassed(
    step,
    run,
    await ended(spawn(...commandOf(step, run), { cwd: root, stdio: 'inherit', env: environment })),
  );
}

/** What Jest says of a file that passed or failed. */
const fileEnded = /^(PASS|FAIL) /;

/** Runs a step: each file that ended is shown as soon as it has, and all else that the step said when it is over. */
async function heard(step, run) {
  const begun = elapsed(run);
  console.log(`── ${step.name} begins (${begun}) ──`);
  const env = { ...environment, NO_COLOR: '1', FORCE_COLOR: undefined };
  const child = spawn(...commandOf(step, run), { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env });
  const lines = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      if (fileEnded.test(line)) console.log(line);
    });
  }
  const end = await ended(child);
  const rest = lines.filter((line) => !fileEnded.test(line));
  console.log(`\n── ${step.name} (${begun} to ${elapsed(run)}) ──\n${rest.join('\n').trimEnd()}`);
  return hasPassed(step, run, end);
}

const running = new Set();
// A terminal stops all of its processes, a supervisor this one alone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exit(1);
  });

/** How a process ended. */
async function ended(child) {
  running.add(child);
  const end = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: null, error }));
    child.once('close', (status) => resolve({ status }));
  });
  running.delete(child);
  return end;
}

function commandOf(step, run) {
  const [program, args] = step.project === undefined ? step.run : jestOf(step, run);
  return step.yields === true ? ['nice', ['-n', '5', program, ...args]] : [program, args];
}

const jestOf = (step, run) => [
  process.execPath,
  [
    'node_modules/jest/bin/jest.js',
    '--json',
    `--outputFile=${resultsOf(step, run)}`,
    '--selectProjects',
    step.project,
    ...step.options,
  ],
];

const resultsOf = ({ name }, { folder }) => join(folder, `${name}.json`);

/** How a step says that this machine lacks what it needs; its output says what, and how to get it. */
export const leftOut = 77;

function hasPassed(step, run, { status, error }) {
  const { name } = step;
  if (status === leftOut) {
    run.leftOut.push(step);
    return true;
  }
  if (status !== 0) console.error(`── ${name} failed${error === undefined ? '' : `: ${error.message}`} ──`);
  return status === 0;
}

function printFailures(run) {
  for (const step of run.failed) {
    const lines = failureLines(resultsOf(step, run));
    if (lines.length > 0) console.log(`\n── why ${step.name} failed ──`, lines.join('\n'));
  }
  console.log(`\n── ${verdictOf(run)}; ${elapsed(run)} ──`);
}

function elapsed({ started }) {
  const seconds = Math.round((Date.now() - started) / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

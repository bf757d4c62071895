// Runs each test as it is, and then again with each mutant whose code it comes to, until a test fails: modules are loaded once for all mutants.
import { appendFileSync, readFileSync } from 'node:fs';
import { addEventHandler } from 'jest-circus';
import { forget } from './forgetful.mjs';

// Its name is Stryker's: the switches in the instrumented files read it.
const stryker = (globalThis.__stryker__ ??= {});
const { judged, progress } = JSON.parse(readFileSync(process.env.MUTATION_WORK, 'utf8'));
// A process runs several files: what is judged already is judged for all of them.
const done = (globalThis.stowageJudgedMutants ??= new Set(judged));

// A mutant may loop for ever. It is stopped once its switch has been passed this many times more often than without it.
const mostPasses = 100;

// One mutant is active from the start where what it changes is worked out while modules are loaded.
const fromTheStart = process.env.__STRYKER_ACTIVE_MUTANT__ !== undefined;

const prepared = new WeakSet();
if (!fromTheStart) {
  addEventHandler(({ name }, { currentDescribeBlock, rootDescribeBlock }) => {
    if (!prepared.has(rootDescribeBlock)) {
      prepared.add(rootDescribeBlock);
      const fn = () => note({ atLoad: Object.keys(stryker.mutantCoverage?.static ?? {}) });
      rootDescribeBlock.hooks.push({ type: 'afterAll', fn });
    }
    if (name !== 'add_test') return;
    const test = currentDescribeBlock.children.at(-1);
    const run = test.fn;
    test.fn = () => judge(test.name, run);
  });
}

async function judge(name, run) {
  const covered = await withCoverage(run);
  const open = Object.keys(covered).filter((id) => !done.has(id));
  if (open.length === 0) return;
  // A test that cannot be run twice judges nothing.
  if (!(await passes(run))) {
    console.error(`fails when it is run twice: ${name}`);
    return;
  }
  for (const id of open) {
    note({ tried: id });
    const killed = !(await passes(run, id, covered[id]));
    if (!killed) {
      note({ survived: id });
      continue;
    }
    done.add(id);
    // What a mutant left in memory may fail tests that it does not touch: a new process judges the others.
    if (await passes(run)) continue;
    note({ spoiled: name, by: id });
    process.kill(process.pid, 'SIGKILL');
  }
}

/** Runs without mutants; returns how often each switch was passed. */
async function withCoverage(run) {
  stryker.activeMutant = undefined;
  stryker.hitLimit = undefined;
  stryker.hitCount = undefined;
  const coverage = (stryker.mutantCoverage ??= { static: {}, perTest: {} });
  stryker.currentTestId = 'test';
  coverage.perTest.test = {};
  try {
    await run();
  } finally {
    stryker.currentTestId = undefined;
  }
  return coverage.perTest.test;
}

async function passes(run, mutant, passed = 0) {
  forget();
  // What a mutant leads to is no code that runs while modules are loaded.
  stryker.currentTestId = 'judging';
  stryker.activeMutant = mutant;
  stryker.hitCount = mutant === undefined ? undefined : 0;
  stryker.hitLimit = mostPasses * (passed + 1);
  try {
    await run();
    return true;
  } catch {
    return false;
  } finally {
    stryker.currentTestId = undefined;
    stryker.activeMutant = undefined;
    stryker.hitCount = undefined;
    forget();
  }
}

function note(what) {
  appendFileSync(progress, `${JSON.stringify(what)}\n`);
}

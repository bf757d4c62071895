// Which mutants no test notices. The tests run in one process of Jest (runner.mjs), which is started again where a mutant does not end or spoils it.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transpile } from '../../build/transpile.mjs';

// A mutant that says nothing for this long does not end. Without one, everything ends by itself: on a busy machine it may take that long to load the modules.
const mostSilent = 60_000;

/** The modules with mutants, in the repository's folder. */
const mirror = 'dist.mutants';

/** `made` is what `instrument` returned; `tests` are globs from `root`. Returns the mutants that are alive, each with whether any test comes to it. Throws where the tests fail without mutants. */
export async function judge(root, made, tests) {
  const folder = mkdtempSync(join(tmpdir(), 'mutation-'));
  rmSync(join(root, mirror), { recursive: true, force: true });
  try {
    await transpile(join(root, mirror), made.texts);
    const work = { tests, progress: join(folder, 'progress') };
    const run = (judged, mutant) => jest(root, folder, { ...work, judged }, mutant);
    const seen = await judgeSwitched(run, work.progress);
    for (const id of seen.atLoad) {
      if (!seen.covered.has(id) && !(await run([], id)).passed) seen.killed.add(id);
    }
    return made.mutants
      .filter(({ id }) => !seen.killed.has(id))
      .map((mutant) => ({ ...mutant, covered: seen.covered.has(mutant.id) || seen.atLoad.has(mutant.id) }));
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(join(root, mirror), { recursive: true, force: true });
  }
}

/** Judges all mutants whose code a test comes to after its modules were loaded. */
async function judgeSwitched(run, progress) {
  for (let seen = read(progress); ;) {
    const { passed, output } = await run([...seen.killed], undefined);
    for (const judgesNothing of output.match(/fails when it is run twice: .*/g) ?? []) console.error(judgesNothing);
    seen = read(progress);
    if (passed) return seen;
    if (!seen.ended) throw new Error(`the tests fail without any mutant\n${output}`);
  }
}

/** What the runner noted so far. A mutant that was tried and is not noted as survived is killed, also where its process ended with it; `ended` says that it did. */
function read(progress) {
  const seen = { killed: new Set(), covered: new Set(), atLoad: new Set(), ended: false };
  const lines = existsSync(progress) ? readFileSync(progress, 'utf8').split('\n') : [];
  for (const line of lines.filter((each) => each !== '')) {
    const note = JSON.parse(line);
    if (note.tried !== undefined) {
      seen.covered.add(note.tried);
      seen.killed.add(note.tried);
    }
    if (note.survived !== undefined) seen.killed.delete(note.survived);
    for (const id of note.atLoad ?? []) seen.atLoad.add(id);
    seen.ended = note.tried !== undefined || note.spoiled !== undefined;
  }
  return seen;
}

/** Whether the last that the runner noted is that it tries a mutant. */
function isTrying(progress) {
  return /"tried":[^\n]*\n$/.test(readFileSync(progress, 'utf8'));
}

/** Runs the tests, with a mutant that is active from the start if one is given. Returns whether they passed, and what was written. */
function jest(root, folder, work, mutant) {
  const file = join(folder, 'work.json');
  writeFileSync(file, JSON.stringify(work));
  writeFileSync(work.progress, '', { flag: 'a' });
  const env = { ...process.env, MUTATION_WORK: file, STOWAGE_TEST_MIRROR: mirror };
  if (mutant !== undefined) env.__STRYKER_ACTIVE_MUTANT__ = mutant;
  const args = ['node_modules/jest/bin/jest.js', '--config', 'tools/test/mutation/jest.config.mjs', '--rootDir', root];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const end = () => process.kill(-child.pid, 'SIGKILL');
  process.once('exit', end);
  const began = Date.now();
  const watch = setInterval(() => {
    const last = Math.max(began, statSync(work.progress).mtimeMs);
    if (Date.now() - last > mostSilent && (mutant !== undefined || isTrying(work.progress))) end();
  }, 1_000);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(watch);
      process.off('exit', end);
      resolve({ passed: code === 0, output });
    });
  });
}

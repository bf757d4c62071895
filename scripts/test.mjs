// npm test: everything a change must pass, in order of cost, on a fresh clone too.
// Usage: node scripts/test.mjs [--only STEP[,STEP...]] [--changed [REV]]
// --changed: what the change since REV (HEAD unless told: what is not committed) touches and needs no stack, for the minutes of writing.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './test/root.mjs';
import { runSteps } from './test/run.mjs';
import { everyStep, stepsFor } from './test/steps.mjs';

function chosenSteps() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { only: { type: 'string' }, changed: { type: 'boolean', default: false } },
  });
  if (values.changed) {
    const since = positionals[0] ?? 'HEAD';
    return withoutSkipped(stepsFor(changedSince(since), since), () => true);
  }
  if (values.only === undefined) return withoutSkipped(everyStep, ({ onRequest = false }) => !onRequest);
  const wanted = values.only.split(',');
  const known = everyStep.flatMap(({ lanes }) => lanes.flat()).flatMap(namesOf);
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only ${unknown.join(',')}: no such step; there are ${[...new Set(known)].join(', ')}`);
  return withoutSkipped(everyStep, (step) => namesOf(step).some((name) => wanted.includes(name)));
}

const namesOf = ({ name, part }) => (part === undefined ? [name] : [part, name]);

/** The groups with the lanes and steps that are chosen and due; none is empty. */
const withoutSkipped = (groups, isChosen) => {
  const isDue = (step) => isChosen(step) && step.skip?.() !== true;
  const lanesOf = ({ lanes }) => lanes.map((lane) => lane.filter(isDue)).filter(({ length }) => length > 0);
  return groups.map((group) => ({ ...group, lanes: lanesOf(group) })).filter(({ lanes }) => lanes.length > 0);
};

/** The files that differ from a revision, new ones included, deleted ones not. */
function changedSince(revision) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const files = [...git('diff', '--name-only', revision), ...git('ls-files', '--others', '--exclude-standard')];
  return files.filter((file) => file !== '' && existsSync(join(root, file)));
}

try {
  process.exitCode = (await runSteps(chosenSteps())) ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}

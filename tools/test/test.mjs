// npm test: what a change must pass, in minutes, on a fresh clone with Node alone; npm run test:all: the rest, on the local stack.
// Usage: node tools/test/test.mjs [--all] [--only STEP[,STEP...]] [--changed [REV]] [--allow-unstable]
// --changed: what the change since REV (default HEAD: what is not committed) touches and needs no stack, for the minutes of writing.
// --allow-unstable: a file of a suite in real time that fails beside others and passes alone is named, and fails nothing: for machines that are loaded.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chosenIn, namedIn } from './choose.mjs';
import { root } from '../root.mjs';
import { runSteps } from './run.mjs';
import { allSteps, quickSteps, stepsFor } from './steps.mjs';

const parsed = () =>
  parseArgs({
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      only: { type: 'string' },
      changed: { type: 'boolean', default: false },
      'allow-unstable': { type: 'boolean', default: false },
    },
  });

function chosenSteps({ values, positionals }) {
  if (values.changed) {
    if (values.only !== undefined) {
      process.stderr.write('--changed chooses the steps itself: leave --only out\n');
      process.exit(2);
    }
    const since = positionals[0] ?? 'HEAD';
    return withoutSkipped(stepsFor(changedSince(since), since), () => true);
  }
  const steps = values.all ? allSteps : quickSteps;
  if (values.only === undefined) return withoutSkipped(steps, ({ onRequest = false }) => !onRequest);
  return withoutSkipped(steps, namedIn(steps, values.only));
}

/** The chosen steps that are due. */
const withoutSkipped = (groups, isChosen) => chosenIn(groups, (step) => isChosen(step) && step.skip?.() !== true);

/** The files that differ from a revision, new ones included, deleted ones not. */
function changedSince(revision) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const files = [...git('diff', '--name-only', revision), ...git('ls-files', '--others', '--exclude-standard')];
  return files.filter((file) => file !== '' && existsSync(join(root, file)));
}

try {
  const args = parsed();
  const passed = await runSteps(chosenSteps(args), { allowUnstable: args.values['allow-unstable'] });
  process.exitCode = passed ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}

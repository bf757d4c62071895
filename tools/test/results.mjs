// What Jest wrote about its runs, and what a run of steps came to.
import { existsSync, readFileSync } from 'node:fs';
import { root } from '../root.mjs';

/** The files that failed, from the root; undefined when Jest did not get as far as to say. */
export function failedFiles(file) {
  return failures(file)?.map(({ name }) => name.slice(root.length + 1));
}

/** What failed: each test with the first lines of why. */
export function failureLines(file) {
  return (failures(file) ?? []).flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed');
    return [
      `\n  ${name.slice(root.length + 1)}`,
      ...(tests.length === 0 ? [reason(message)] : []),
      ...tests.flatMap(({ fullName, failureMessages }) => [`    ✕ ${fullName}`, reason(failureMessages[0] ?? '')]),
    ];
  });
}

const reasonLines = 40;

function reason(text) {
  const lines = text.split('\n').filter((line) => !/^\s+at .*node_modules/.test(line));
  return lines
    .slice(0, reasonLines)
    .map((line) => `      ${line}`)
    .join('\n');
}

function failures(file) {
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')).testResults.filter(({ status }) => status === 'failed');
}

const namesOf = (steps) => steps.map(({ name }) => name).join(', ');

/** `unstable`: files of failed steps that passed when they were run again. */
export function verdictOf({ failed, unstable, leftOut }) {
  return [
    failed.length === 0 ? 'every step passed' : `failed: ${namesOf(failed)}`,
    ...(unstable.length === 0 ? [] : [`failed, and passed when run again alone: ${unstable.join(', ')}`]),
    ...(leftOut.length === 0 ? [] : [`LEFT OUT: ${namesOf(leftOut)} (see above)`]),
  ].join('; ');
}

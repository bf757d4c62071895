import { existsSync, readFileSync } from 'node:fs';
import { lookUp } from '../../../core/own.js';
import type { ShellCommand } from '../shell.js';
import { awsProgram, checkAws } from './aws.js';
import { invocationOf } from './described.js';
import type { Program } from './described.js';
import { checkDocker } from './docker.js';
import { checkHelm } from './helm.js';
import { checkKubectl } from './kubectl.js';
import type { Check, PageSoFar } from './page.js';
import { problemOfFile } from './page.js';
import { docker, helm, kubectl, temporal } from './tables.js';
import { checkTemporal } from './temporal.js';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Readonly<Record<string, string>> };

interface Known {
  readonly program: (words: readonly string[]) => Program;
  readonly check: Check;
}

const others: Readonly<Record<string, Known>> = {
  aws: { program: awsProgram, check: checkAws },
  docker: { program: () => docker, check: checkDocker },
  helm: { program: () => helm, check: checkHelm },
  kubectl: { program: () => kubectl, check: checkKubectl },
  temporal: { program: () => temporal, check: checkTemporal },
};

/** Programs that every shell has, or nearly; pages give them nothing of ours but files that they write. */
const ofTheShell: ReadonlySet<string> = new Set([
  ...['cat', 'cd', 'done', 'eval', 'export', 'for', 'git', 'openssl', 'sed', 'source'],
]);

/** The programs of which pages may show calls. */
export const knownPrograms: readonly string[] = [...Object.keys(others), 'npm', 'node', 'stowage', 'bin/stowage'];

/** What is wrong with a command of a page; notes for those after it what it makes. */
export function problemsOf(command: ShellCommand, page: PageSoFar): readonly string[] {
  const [name = '', ...words] = command.words;
  const problems = problemsOfWords(name, words, page, command.hereDocument);
  for (const path of command.writes) page.files.add(path);
  return problems.map((problem) => `${name} ${words.join(' ').slice(0, 60)}: ${problem}`);
}

function problemsOfWords(
  name: string,
  words: readonly string[],
  page: PageSoFar,
  hereDocument?: string,
): readonly string[] {
  if (name === 'npm') return problemsOfNpm(words);
  if (name === 'node') return problemsOfNode(words);
  if (name === 'stowage' || name === 'bin/stowage') return filesOfStowage(words, page);
  const known = lookUp(others, name);
  if (known === undefined) return ofTheShell.has(name) ? [] : ['is no program that the pages know'];
  const invocation = invocationOf(known.program(words), words);
  if (typeof invocation === 'string') return [invocation];
  const found = known.check(invocation, page, hereDocument).filter((problem) => problem !== undefined);
  const [behind, ...rest] = invocation.behind;
  return behind === undefined ? found : [...found, ...problemsOfWords(behind, rest, page)];
}

function problemsOfNpm([command = '', ...words]: readonly string[]): readonly string[] {
  if (command === 'ci' || command === 'test') return [];
  if (command !== 'run') return [`npm has no command ${command} that the pages know`];
  const script = words.find((word) => !word.startsWith('-'));
  return script !== undefined && lookUp(scripts, script) !== undefined
    ? []
    : [`package.json has no script ${script ?? ''}`];
}

/** A script of the repository; what `npm run build` or the page makes is not there yet. */
function problemsOfNode(words: readonly string[]): readonly string[] {
  const script = words.find((word) => !word.startsWith('-')) ?? '';
  const source = script.replace(/^dist\//, '').replace(/\.js$/, '.ts');
  return existsSync(script) || existsSync(source) || script.startsWith('FOLDER/') ? [] : [`there is no ${script}`];
}

/** Its commands and options are checked with its own description. */
function filesOfStowage(words: readonly string[], page: PageSoFar): readonly string[] {
  const files = words.filter((_, at) => /^--(objects|catalogue|temporal-payload-keys-file)$/.test(words[at - 1] ?? ''));
  return files.map((path) => problemOfFile(path, page)).filter((problem) => problem !== undefined);
}

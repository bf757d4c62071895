import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { describedCommands } from '../cli/program.js';
import { callsOf, problemOfCall } from './docs/calls.js';
import { anchorsOf, linksOf, markdownPages, quotedIn, shellIn } from './docs/pages.js';
import { newPage } from './docs/programs/page.js';
import { knownPrograms, problemsOf } from './docs/programs/programs.js';
import { commandsOf } from './docs/shell.js';
import { tablesOf, testsIn } from './docs/tables.js';

const pages = markdownPages();
/** These tell what was. */
const past = /^(CHANGELOG\.md|docs\/benchmarks-history\.md|docs\/adr\/)/;
const current = pages.filter(({ path }) => !past.test(path));
const cases = (some: typeof pages) => some.map((page) => [page.path, page] as const);

describe.each(cases(pages))('%s', (path, { text }) => {
  test('links to what there is', () => {
    const broken = linksOf(text).filter((target) => {
      const [to = '', anchor] = target.split('#');
      const file = to === '' ? path : join(dirname(path), to);
      if (!existsSync(file)) return true;
      return anchor !== undefined && file.endsWith('.md') && !anchorsOf(readFileSync(file, 'utf8')).has(anchor);
    });
    expect(broken).toEqual([]);
  });
});

/** A file or folder of the repository: it begins with one of its folders, or has the ending of a source. */
const folders = new Set(readdirSync('.', { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? [e.name] : [])));
const made = /^(node_modules|dist|coverage|\.git)\//;
const isPath = (quoted: string): boolean =>
  /^[\w.@-]+(\/[\w.@*-]+)+\/?$/.test(quoted) &&
  !made.test(quoted) &&
  (folders.has(quoted.split('/')[0]!) || /\.(ts|mjs|tpl|yaml)$/.test(quoted));

/** A star stands for any name. */
function exists(quoted: string): boolean {
  if (!quoted.includes('*')) return existsSync(quoted);
  const folder = quoted.slice(0, quoted.lastIndexOf('/', quoted.indexOf('*')));
  const pattern = new RegExp(`^${quoted.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`);
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => pattern.test(`${folder}/${name}`));
}

describe.each(cases(current))('%s', (path, { text }) => {
  let commands: Awaited<ReturnType<typeof describedCommands>>;
  beforeAll(async () => {
    commands = await describedCommands();
  });

  test('names files that there are', () => {
    expect(
      quotedIn(text).filter((quoted) => isPath(quoted) && !exists(quoted) && !exists(join(dirname(path), quoted))),
    ).toEqual([]);
  });

  test('calls stowage as it can be called', () => {
    const problems = callsOf(text, 'stowage').flatMap((call) => problemOfCall(call, commands) ?? []);
    expect(problems).toEqual([]);
  });

  test('calls other programs as they can be called', () => {
    const page = newPage();
    const commands = shellIn(text, knownPrograms).flatMap(commandsOf);
    expect(commands.flatMap((command) => problemsOf(command, page))).toEqual([]);
  });
});

test('the walk sees what it is about', () => {
  const all = pages.map(({ text }) => text);
  expect(all.flatMap(linksOf).length).toBeGreaterThan(100);
  expect(all.flatMap(quotedIn).filter(isPath).length).toBeGreaterThan(50);
  expect(all.flatMap((text) => callsOf(text, 'stowage')).length).toBeGreaterThan(60);
  const programs = all
    .flatMap((text) => shellIn(text, knownPrograms))
    .flatMap(commandsOf)
    .map(({ words }) => words[0]);
  const calls = (name: string): number => programs.filter((each) => each === name).length;
  const least = { aws: 10, docker: 5, helm: 12, kubectl: 40, npm: 20, temporal: 6 };
  expect(Object.entries(least).filter(([name, count]) => calls(name) < count)).toEqual([]);
});

describe('docs/adr', () => {
  const decisions = pages.filter(({ path }) => /^docs\/adr\/\d{4}-/.test(path));
  const index = readFileSync('docs/adr/README.md', 'utf8');

  test('numbers decisions one after the other', () => {
    expect(decisions.map(({ path }) => Number(path.slice('docs/adr/'.length, 'docs/adr/'.length + 4)))).toEqual(
      decisions.map((_, i) => i + 1),
    );
  });

  test.each(cases(decisions))('%s is one decision, and in the index', (path, { text }) => {
    const number = Number(path.slice('docs/adr/'.length, 'docs/adr/'.length + 4));
    const [, title] = /^# \d+\. (.+)$/m.exec(text) ?? [];
    const [, date] = /^Date: (\d{4}-\d\d-\d\d)$/m.exec(text) ?? [];
    expect(text.match(/^## .+$/gm)).toEqual(['## Context', '## Alternatives', '## Decision', '## Consequences']);
    expect(text.startsWith(`# ${number}. `)).toBe(true);
    expect(index.split('\n').filter((row) => row.includes(`(${path.slice('docs/adr/'.length)})`))).toEqual([
      expect.stringMatching(/^\|/),
    ]);
    expect(index).toContain(`[${title}](${path.slice('docs/adr/'.length)})`);
    expect(index).toMatch(new RegExp(`\\(${path.slice('docs/adr/'.length)}\\) *\\| ${date ?? 'no date'} *\\|`));
  });
});

// Folders whose README lists their files: who looks for something reads that first.
test.each([
  ...readdirSync('packing').flatMap((name) => (existsSync(`packing/${name}/README.md`) ? [`packing/${name}`] : [])),
  'workflows',
])('%s/README.md lists every file', (folder) => {
  const text = readFileSync(`${folder}/README.md`, 'utf8');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('-messages.ts'),
  );
  const isListed = (name: string): boolean =>
    [name, name.split('/').at(-1)!].some((form) => text.includes(`\`${form}\``));
  expect(files.filter((name) => !isListed(name))).toEqual([]);
});

test('docs/architecture.md says where a rule is', () => {
  const rows = readFileSync('docs/architecture.md', 'utf8').matchAll(
    /^\|[^|]+\| `([a-z-]+\/[a-z-]+)` *\| `([^`]+)\/` *\| `([^`]+)` *\|$/gm,
  );
  const found = [...rows].map(([, rule = '', folder = '', file = '']) => ({ rule, folder, file }));
  expect(found).toHaveLength(12);
  for (const { rule, folder, file } of found) {
    expect(`${file} below ${folder}/`).toBe(`${file.startsWith(`${folder}/`) ? file : 'nothing'} below ${folder}/`);
    expect(readFileSync(file, 'utf8')).toContain(rule);
  }
});

describe('what docs/install.md promises', () => {
  const promises = tablesOf(readFileSync('docs/install.md', 'utf8')).filter(([first]) => first?.test !== undefined);

  test.each(promises.flat().map((row) => [Object.values(row)[0]!, row] as const))(
    '%s: has a test',
    (_, { test = '' }) => {
      const tests = testsIn(test);
      expect(tests.length).toBeGreaterThan(0);
      const missing = tests.filter(
        ({ file, title = '' }) =>
          !existsSync(file) || !readFileSync(file, 'utf8').replaceAll("\\'", "'").includes(title),
      );
      expect(missing).toEqual([]);
    },
  );

  test.each(promises.flat().flatMap((row) => (row.where === undefined ? [] : [[row.need!, row.where] as const])))(
    '%s: is in a file',
    (_, where) => {
      const files = [...where.matchAll(/`([^`]+\/[^`]+\.\w+)`/g)].map(([, file = '']) => file);
      expect(files.length).toBeGreaterThan(0);
      expect(files.filter((file) => !existsSync(file))).toEqual([]);
    },
  );

  test('is all of these tables', () => {
    expect(promises.map((rows) => rows.length)).toEqual([expect.any(Number), expect.any(Number)]);
    expect(promises.flat().length).toBeGreaterThan(25);
  });
});

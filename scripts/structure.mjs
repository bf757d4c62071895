// npm run structure -- COMMIT [COMMIT]: the structure of the code at two commits side by side, into docs/structure.md. The second is HEAD unless given.
// What the page says after its table stays.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { measure } from './structure/measure.mjs';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });

/** The TypeScript of a commit, declarations apart. */
function* sourcesAt(commit) {
  for (const path of git('ls-tree', '-r', '--name-only', commit).split('\n'))
    if (/\.ts$/.test(path) && !/\.d\.ts$/.test(path)) yield [path, git('show', `${commit}:${path}`)];
}

const [before, after = 'HEAD'] = process.argv.slice(2);
if (before === undefined) throw new Error('give a commit to compare with: npm run structure -- COMMIT');
const was = measure(sourcesAt(before));
const is = measure(sourcesAt(after));
const dated = (commit) => git('log', '-1', '--format=%h, %cs', commit).trim();
const path = 'docs/structure.md';
const [, sections = ''] = /^(## [^]*)/m.exec(readFileSync(path, 'utf8')) ?? [];
const page = `# The structure of the code

Counted by \`npm run structure\` in TypeScript alone. A class or function counts with its comments inside; a reader has to tell apart a name that two files export. Of the product \`scripts/names.test.ts\` allows none but four that mean one thing in both; the tools beside it (bench, checker, cases, devstack, simulation, aws-conformance) share no code with the product on purpose, and have names of their own.

| | ${dated(before)} | ${dated(after)} |
| --- | ---: | ---: |
${was.map(([what, count], i) => `| ${what} | ${count} | ${is[i][1]} |`).join('\n')}

${sections}`;
writeFileSync(path, await format(page, { ...(await resolveConfig(path)), filepath: path }));

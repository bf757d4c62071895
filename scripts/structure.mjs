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

Counted by \`npm run structure\` in TypeScript only. A class or function counts with the comments inside it. If two files export the same name, a reader has to tell them apart. In the product, \`scripts/names.test.ts\` allows only four such names, which mean the same in both files. The tools beside the product (bench, checker, cases, devstack, simulation, aws-conformance) share no code with it on purpose, and have their own names.

| | ${dated(before)} | ${dated(after)} |
| --- | ---: | ---: |
${was.map(([what, count], i) => `| ${what} | ${count} | ${is[i][1]} |`).join('\n')}

${sections}`;
writeFileSync(path, await format(page, { ...(await resolveConfig(path)), filepath: path }));

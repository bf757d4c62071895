// npm run rules: holds docs/behaviour against who cites its rules. Fails on citations of rules that there are not, on citations by number,
// and on rules that no test cites.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { problemsOf, rulesOf } from './rules/problems.mjs';
import { root } from '../root.mjs';

const behaviour = 'docs/behaviour/';
const read = (file) => readFileSync(join(root, file), 'utf8');
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.mjs', '*.md'], { cwd: root });
const files = listed
  .toString()
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const pages = files
  .filter((file) => file.startsWith(behaviour) && !file.endsWith('README.md'))
  .map((file) => ({ page: basename(file, '.md'), text: read(file) }));
// The check's own folder cites on purpose what is not there.
const citing = files
  .filter((file) => !file.startsWith(behaviour) && !file.startsWith('tools/docs/rules'))
  .map((file) => ({ file, text: read(file) }));

const problems = problemsOf(pages, citing, (file) => file.endsWith('.test.ts') || file.startsWith('test/'));
for (const problem of problems) console.error(problem);
console.log(`${pages.flatMap(rulesOf).length} rules, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

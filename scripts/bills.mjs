// Writes docs/bills.md, plans beside what ignoring parts of the bill would have cost: `npm run bills`.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { billsPage } from './bills/page.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..');
execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
const { billExamples, extras, pricesOf, region } = await import(join(root, 'dist/bench/bills.js'));
const file = join(root, 'docs/bills.md');
const page = billsPage({ examples: billExamples(), extras, pricesOf, region });
writeFileSync(file, await format(page, { ...(await resolveConfig(file)), filepath: file }));

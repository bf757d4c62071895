// Writes into docs/architecture.md who may import whom, from .dependency-cruiser.mjs: `npm run import-table`.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import { rows } from '../.dependency-cruiser.mjs';
import { tableOf, withTable } from './import-table/table.mjs';

const file = fileURLToPath(new URL('../docs/architecture.md', import.meta.url));
const page = withTable(readFileSync(file, 'utf8'), tableOf(rows));
writeFileSync(file, await prettier.format(page, { ...(await prettier.resolveConfig(file)), parser: 'markdown' }));

// Draws in docs/architecture.md which workflow starts which, from the code: `npm run workflow-graph`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chartOf, startsOf } from './workflow-graph/graph.mjs';
import { withChart } from './workflow-graph/page.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..');
const file = join(root, 'docs/architecture.md');
writeFileSync(file, withChart(readFileSync(file, 'utf8'), chartOf(startsOf(join(root, 'workflows')))));

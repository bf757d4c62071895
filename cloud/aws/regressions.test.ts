import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/reliability.md', 'utf8');
const [section = ''] = page.split('## AWS as it behaves').slice(1);
const rows = [...section.split('\n## ')[0]!.matchAll(/^\| .+? \| `(\S+\.test\.ts)`: (.+?) +\| .+ \|$/gm)];

test('docs/reliability.md names tests of AWS that there are', () => {
  expect(rows.length).toBeGreaterThan(20);
  const missing = rows.filter(([, file = '', title = '']) => !readFileSync(file, 'utf8').includes(title));
  expect(missing.map(([row]) => row)).toEqual([]);
});

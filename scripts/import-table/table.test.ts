import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { rows } from '../../.dependency-cruiser.mjs';
import { rowsIn, tableOf, withTable } from './table.mjs';

const page = readFileSync(fileURLToPath(new URL('../../docs/architecture.md', import.meta.url)), 'utf8');

test('docs/architecture.md says who may import whom as the rules have it (npm run import-table)', () => {
  expect(rowsIn(page)).toEqual(rowsIn(withTable(page, tableOf(rows))));
});

test('patterns are written out', () => {
  const [, made] = rowsIn(
    withTable(
      page,
      tableOf([
        {
          name: 'a',
          allowed: 'b/|c/(d\\.ts|e/)|node_modules/@x/[a-z]+/|(node:)?[a-z_0-9/]+$|crypto',
          comment: 'one | two',
          types: 'api/',
        },
      ]),
    ),
  );
  expect(made).toEqual(['a', 'b, c/d.ts, c/e, @x/*, Node', 'api', 'one / two']);
});

test('a page without its marks is told', () => {
  expect(() => withTable('# Architecture', '')).toThrow('docs/architecture.md');
});

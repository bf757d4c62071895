import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
// @ts-expect-error: a script without types
import { outdatedFiles as untyped } from './chart.mjs';
// @ts-expect-error: a script without types
import { valuesTable as untypedTable } from './chart/values-table.mjs';

const outdatedFiles = untyped as () => string[];
const valuesTable = untypedTable as (text: string) => string;

test('generated parts of the chart are current (npm run generate)', () => {
  expect(outdatedFiles()).toEqual([]);
});

describe('valuesTable of the chart', () => {
  test('takes comments over several lines, and values with those below them', () => {
    const text = '# -- First\n# and more.\na: 1\nb:\n  # -- Below | it.\n  c: [x]\n';

    expect(valuesTable(text).split('\n').slice(2, 4)).toEqual([
      '| `a` | `1` | First and more. |',
      '| `b.c` | `["x"]` | Below \\| it. |',
    ]);
  });

  test('refuses a value without a description', () => {
    expect(() => valuesTable('a:\n  b: 1\n')).toThrow('a.b has no comment');
  });
});

test("the schema of the chart's values has each value, and no other", () => {
  const schema = JSON.parse(readFileSync('deploy/chart/values.schema.json', 'utf8')) as { properties: object };
  const table = valuesTable(readFileSync('deploy/chart/values.yaml', 'utf8'));
  const roots = new Set([...table.matchAll(/^\| `([A-Za-z]+)/gm)].map(([, root]) => root));

  expect([...roots].sort()).toEqual(
    Object.keys(schema.properties)
      .filter((name) => name !== 'global')
      .sort(),
  );
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** Ids of patches in workflow code, those on their way out included. */
const patchesIn = (code: string): string[] =>
  [...code.matchAll(/\b(?:patched|deprecatePatch)\(\s*['"`]([^'"`]+)['"`]/g)].map(([, id]) => id!);

/** Ids in the rows of docs/patches.md, each with what its row says besides. */
function rowsIn(page: string): { readonly id: string; readonly rest: readonly string[] }[] {
  return page.split('\n').flatMap((line) => {
    const [id, ...rest] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    const found = /^`(.+)`$/.exec(id ?? '')?.[1];
    return found === undefined ? [] : [{ id: found, rest }];
  });
}

const sources = readdirSync('workflows', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => readFileSync(join('workflows', file), 'utf8'));
const rows = rowsIn(readFileSync('docs/patches.md', 'utf8'));

describe('docs/patches.md', () => {
  test('lists every patch of the workflows, and no other', () => {
    const live = new Set(sources.flatMap(patchesIn));
    expect(rows.map(({ id }) => id).sort()).toEqual([...live].sort());
  });

  test('says of each patch its workflow, since when, what it keeps and when it may go', () => {
    for (const { id, rest } of rows) {
      expect([id, rest.length, rest.every((cell) => cell !== '')]).toEqual([id, 4, true]);
      expect([id, rest[3]]).toEqual([id, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
    }
  });

  test('is parsed together with patches in code, on one line or two', () => {
    const code = "if (patched('early-launch')) a();\ndeprecatePatch(\n  'old-drain',\n);\nconst outcome = 'patched';";
    expect(patchesIn(code)).toEqual(['early-launch', 'old-drain']);
    const table = '| patch | workflow |\n| --- | --- |\n| `early-launch` | `provision` | 0.2.0 | the order | 0.4.0 |';
    expect(rowsIn(table)).toEqual([{ id: 'early-launch', rest: ['`provision`', '0.2.0', 'the order', '0.4.0'] }]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import ts from 'typescript';
import rule from './own-lookups.mjs';

const folder = mkdtempSync(join(tmpdir(), 'stowage-own-lookups-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** How often the rule speaks in a program of this one file: the whole product's would take half a minute to read. */
function reported(code: string): number {
  const filename = join(folder, 'code.ts');
  writeFileSync(filename, code);
  const program = ts.createProgram([filename], { strict: true, target: ts.ScriptTarget.ES2022, types: [] });
  const messages = new Linter({ cwd: folder }).verify(
    code,
    [
      {
        files: ['**/*.ts'],
        plugins: { stowage: { rules: { 'own-lookups': rule } } },
        rules: { 'stowage/own-lookups': 'error' },
        languageOptions: { parser: tseslint.parser, parserOptions: { programs: [program] } },
      },
    ],
    { filename },
  );
  expect(messages.filter(({ fatal }) => fatal)).toEqual([]);
  return messages.length;
}

test('own-lookups reports plain objects that are looked up by a string', () => {
  const code = `
    export const a = (labels: Readonly<Record<string, string>>, key: string): unknown => labels[key];
    export const b = (table: { x: number }, key: string): boolean => key in table;
    export const c = (labels: Record<string, string> | undefined, key: string): unknown => labels?.[key];
    export const d = (sums: Record<string, number>, key: string): void => void (sums[key] += 1);
  `;
  expect(reported(code)).toBe(4);
});

test('own-lookups accepts lists, literal keys, maps and plain assignments', () => {
  const code = `
    export const a = (list: readonly string[], i: number): unknown => list[i];
    export const b = (table: Record<'x' | 'y', string>, key: 'x' | 'y'): unknown => table[key];
    export const c = (labels: Record<string, string>): unknown => labels['app'];
    export const d = (map: ReadonlyMap<string, string>, key: string): unknown => map.get(key);
    export const e = (table: Record<string, string>, key: string): void => void (table[key] = 'x');
  `;
  expect(reported(code)).toBe(0);
});

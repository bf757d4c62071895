import { describe, expect, test } from '@jest/globals';
import { ESLint } from 'eslint';
import { hasOwn, lookUp } from './own.js';

describe('look-ups by keys that users write', () => {
  test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__'])(
    '%s is inherited, not there',
    (key) => {
      expect(lookUp({}, key)).toBeUndefined();
      expect(hasOwn({}, key)).toBe(false);
      const written = JSON.parse(`{"${key}": "own"}`) as Record<string, string>;
      expect(lookUp(written, key)).toBe('own');
      expect(hasOwn(written, key)).toBe(true);
    },
  );

  test('nothing is in nothing', () => {
    expect(lookUp(undefined, 'a')).toBeUndefined();
    expect(hasOwn(null, 'a')).toBe(false);
  });
});

describe('lint rule own-lookups', () => {
  const found = async (code: string): Promise<readonly (string | null)[]> => {
    const eslint = new ESLint({ overrideConfig: [{ rules: { '@typescript-eslint/no-unused-vars': 'off' } }] });
    // Any file of the product's will do: its text is not read.
    const [result] = await eslint.lintText(code, { filePath: 'core/resources.ts' });
    return result!.messages.map(({ ruleId }) => ruleId).filter((rule) => rule === 'stowage/own-lookups');
  };

  test('reports plain objects that are looked up by a text', async () => {
    const code = `
      export const a = (labels: Readonly<Record<string, string>>, key: string): unknown => labels[key];
      export const b = (table: { x: number }, key: string): boolean => key in table;
      export const c = (labels: Record<string, string> | undefined, key: string): unknown => labels?.[key];
      export const d = (sums: Record<string, number>, key: string): void => void (sums[key] += 1);
    `;
    expect(await found(code)).toHaveLength(4);
  }, 60_000);

  test('leaves lists, literal keys, maps and plain assignments alone', async () => {
    const code = `
      export const a = (list: readonly string[], i: number): unknown => list[i];
      export const b = (table: Record<'x' | 'y', string>, key: 'x' | 'y'): unknown => table[key];
      export const c = (labels: Record<string, string>): unknown => labels['app'];
      export const d = (map: ReadonlyMap<string, string>, key: string): unknown => map.get(key);
      export const e = (table: Record<string, string>, key: string): void => void (table[key] = 'x');
    `;
    expect(await found(code)).toEqual([]);
  }, 60_000);
});

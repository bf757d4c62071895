import { expect, test } from '@jest/globals';
import { Linter } from 'eslint';
import ts from 'typescript';
import tseslint from 'typescript-eslint';
import rule from './possible-matchers.mjs';

const declarations = `
declare const expect: (value: unknown) => any;
declare const flag: boolean;
declare const name: string | null;
declare const one: { size: number } | undefined;
declare const any: any;
declare const find: () => Promise<string | undefined>;
declare const runs: () => Promise<boolean>;
`;

/** The types are those of the declarations above and of two of the library, so that a program takes milliseconds. */
function programOf(code: string): ts.Program {
  const options: ts.CompilerOptions = { strict: true, target: ts.ScriptTarget.ES2023 };
  const host = ts.createCompilerHost(options);
  const library = 'interface Promise<T> { then: (done: (value: T) => void) => void } interface Array<T> {}';
  const texts = new Map([
    ['case.ts', code],
    [host.getDefaultLibFileName(options), library],
  ]);
  host.fileExists = (file) => texts.has(file);
  host.getSourceFile = (file, target) => {
    const text = texts.get(file);
    return text === undefined ? undefined : ts.createSourceFile(file, text, target, true);
  };
  return ts.createProgram(['case.ts'], options, host);
}

function reported(statement: string): string[] {
  const code = `${declarations}export async function check() { ${statement} }`;
  const plugins = { stowage: { rules: { 'possible-matchers': rule } } };
  const parserOptions = { programs: [programOf(code)] };
  const languageOptions = { parser: tseslint.parser as Linter.Parser, parserOptions };
  const config = {
    files: ['**/*.ts'],
    plugins,
    languageOptions,
    rules: { 'stowage/possible-matchers': 'error' as const },
  };
  return new Linter().verify(code, [config], 'case.ts').map(({ message }) => message);
}

test.each([
  ['expect(await runs()).toBeUndefined()', 'boolean'],
  ['expect(flag).not.toBeUndefined()', 'boolean'],
  ['expect(name).toBeDefined()', 'string | null'],
  ['expect(one).toBeNull()', '{ size: number; } | undefined'],
])('possible-matchers reports %s', (statement, type) => {
  expect(reported(statement)).toEqual([expect.stringContaining(`(${type})`)]);
});

test.each([
  'expect(one).toBeDefined()',
  'expect(await find()).toBeUndefined()',
  'expect(name).not.toBeNull()',
  'expect(any).toBeUndefined()',
  'expect(flag).toBe(false)',
  'expect.any(flag)',
])('possible-matchers accepts %s', (statement) => {
  expect(reported(statement)).toEqual([]);
});

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'transpile-'));
  for (const path of ['tools/root.mjs', 'tools/build/transpile.mjs', 'package-lock.json'])
    cpSync(path, join(root, path), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'core'));
});
afterAll(() => rmSync(root, { recursive: true }));

const source = (): string => join(root, 'core', 'a.ts');
const module = (): string => join(root, 'dist.tests', 'core', 'a.js');

function write(text: string): void {
  writeFileSync(source(), text);
  utimesSync(source(), 0, 0);
}

function transpile(): void {
  const code = "import { transpile } from './tools/build/transpile.mjs'; await transpile();";
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}

test('the module of a changed source is written again, also with equal size and modification time; the module of a deleted source is removed', () => {
  write('export const a: number = 1;\n');
  transpile();
  expect(readFileSync(module(), 'utf8')).toContain('const a = 1;');

  write('export const a: number = 2;\n');
  transpile();
  expect(readFileSync(module(), 'utf8')).toContain('const a = 2;');

  rmSync(source());
  writeFileSync(join(root, 'core', 'b.ts'), 'export const b = 1;\n');
  transpile();
  expect(existsSync(module())).toBe(false);
});

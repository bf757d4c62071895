import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'build-'));
});
afterAll(() => rmSync(root, { recursive: true }));

test('a failing build gives one message with the place, and leaves no half build and the earlier one unchanged', () => {
  for (const path of ['tools/root.mjs', 'tools/build', 'package.json', 'package-lock.json', 'examples'])
    cpSync(path, join(root, path), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  for (const folder of ['api', 'dist']) mkdirSync(join(root, folder));
  writeFileSync(join(root, 'dist', 'earlier.js'), '');
  writeFileSync(join(root, 'api', 'broken.ts'), 'export const a = 1;\nconst b = ;\n');

  const { status, stderr } = spawnSync(process.execPath, ['tools/build/build.mjs'], { cwd: root, encoding: 'utf8' });

  expect(stderr).toBe('stowage: dist/ was not built: api/broken.ts:2:11: Unexpected ";"\n');
  expect(status).toBe(1);
  expect(readdirSync(root).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
  expect(readdirSync(join(root, 'dist'))).toEqual(['earlier.js']);
});

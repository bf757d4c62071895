import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'single-file-'));
  const made = spawnSync(
    process.execPath,
    ['tools/build/single-file.mjs', join(folder, 'stowage.mjs'), '--version', '7.8.9'],
    { encoding: 'utf8' },
  );
  expect(made.stderr).toBe('');
  for (const name of ['cluster.json', 'instance-types.json']) copyFileSync(`examples/${name}`, join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

const stowage = (...args: string[]) => spawnSync(join(folder, 'stowage.mjs'), args, { cwd: folder, encoding: 'utf8' });

test('the single-file command runs without the repository and its packages: it has its version, plans, and writes CRDs', () => {
  expect(stowage('--version').stdout).toBe('7.8.9\n');
  const plan = stowage('plan', '--objects', 'cluster.json', '--catalogue', 'instance-types.json');
  expect(plan.stderr).toBe('');
  expect(plan.stdout).toContain('Nodes to launch');
  expect(stowage('crds').stdout).toContain('kind: CustomResourceDefinition');
});

test('the single-file command has the files that sources read at run time', () => {
  const text = readFileSync(join(folder, 'stowage.mjs'), 'utf8');

  expect(text).not.toMatch(/new URL\(["'`]\.\/[\w.-]+\.json/);
});

test("the single-file command's run, which needs a native library, says where to get it", () => {
  const { status, stderr } = stowage('run');

  expect(status).toBe(2);
  expect(stderr).toBe('stowage: stowage run is in the image of Stowage, not in this file: it needs a native library\n');
});

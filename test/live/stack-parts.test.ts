import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startStack, type Stack } from '../../devstack/stack.js';
import { coreNames } from '../../scripts/docs/programs/kubectl.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-stack-parts-'));
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ name: 'stack-parts', folder, parts: ['apiserver'] });
});

afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a part that waits for another does not keep that from being started', async () => {
  for (const part of ['kube-apiserver', 'etcd']) await stack.stopComponent(part, true);
  expect(stack.isRunning('etcd')).toBe(false);
  const waiting = stack.startComponent('kube-apiserver');
  await stack.startComponent('etcd');
  await waiting;
  expect(['etcd', 'kube-apiserver'].map((part) => stack.isRunning(part))).toEqual([true, true]);
});

test('the API server has the kinds that pages name, by these names', async () => {
  const resources = ['--kubeconfig', stack.adminKubeconfig ?? '', 'api-resources', '--no-headers'];
  const { stdout } = await promisify(execFile)(stack.kubectl ?? '', resources);
  // Plural, short names where there are any, group and version, whether in namespaces, kind.
  const names = stdout.split('\n').flatMap((row) => row.toLowerCase().split(/[\s,]+/));
  expect(coreNames.filter((name) => !names.includes(name))).toEqual([]);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startStack, type Stack } from '../../tools/stack/stack.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-stack-parts-'));
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ name: 'stack-parts', folder, parts: ['apiserver'] });
});

afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a part of the local stack that waits for another does not delay the start of that other', async () => {
  for (const part of ['kube-apiserver', 'etcd']) await stack.stopComponent(part, true);
  expect(stack.isRunning('etcd')).toBe(false);
  const waiting = stack.startComponent('kube-apiserver');
  await stack.startComponent('etcd');
  await waiting;
  expect(['etcd', 'kube-apiserver'].map((part) => stack.isRunning(part))).toEqual([true, true]);
});

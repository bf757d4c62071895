import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { digestOf } from './digest.mjs';

const flags = process.env.NODE_OPTIONS;
let root: string;
const at = (...names: string[]): string[] => names.map((name) => join(root, name));
const write = (name: string, text: string): void => writeFileSync(join(root, name), text);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'digest-'));
  write('a.ts', 'one');
  write('b.ts', 'two');
});
afterEach(() => {
  if (flags === undefined) delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = flags;
  rmSync(root, { recursive: true });
});

test('the digest of files depends neither on their order nor on their age', () => {
  const before = digestOf(root, at('a.ts', 'b.ts'));
  write('a.ts', 'one');
  expect(digestOf(root, at('b.ts', 'a.ts'))).toBe(before);
});

test('the digest of files depends on their content, names and boundaries, and on missing files', () => {
  const seen = [digestOf(root, at('a.ts', 'b.ts')), digestOf(root, at('a.ts'))];
  write('a.ts', 'One');
  seen.push(digestOf(root, at('a.ts', 'b.ts')));
  write('a.ts', 'onet');
  write('b.ts', 'wo');
  seen.push(digestOf(root, at('a.ts', 'b.ts')));
  renameSync(join(root, 'b.ts'), join(root, 'c.ts'));
  seen.push(digestOf(root, at('a.ts', 'c.ts')));
  expect(new Set(seen).size).toBe(seen.length);
});

// V8: a code cache made under other flags is refused, and each start compiles anew.
test('the digest of files differs by flags of Node', () => {
  const before = digestOf(root, at('a.ts'));
  process.env.NODE_OPTIONS = '--max-semi-space-size=32';
  expect(digestOf(root, at('a.ts'))).not.toBe(before);
});

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { nativeLibrary } from './native.mjs';

let bridge: string;
beforeAll(() => {
  bridge = mkdtempSync(join(tmpdir(), 'stowage-bridge-'));
  mkdirSync(join(bridge, 'releases/x86_64-unknown-linux-gnu'), { recursive: true });
  mkdirSync(join(bridge, 'releases/aarch64-unknown-linux-gnu'), { recursive: true });
});
afterAll(() => rmSync(bridge, { recursive: true }));

test.each([
  ['amd64', 'arm64', 'releases/x86_64-unknown-linux-gnu'],
  ['arm64', 'x64', 'releases/aarch64-unknown-linux-gnu'],
  // Who builds for the machine itself says nothing.
  ['', 'arm64', 'releases/aarch64-unknown-linux-gnu'],
  [undefined, 'x64', 'releases/x86_64-unknown-linux-gnu'],
])('native libraries: an image for "%s", built on %s, has %s', (arch, own, folder) => {
  expect(nativeLibrary(bridge, arch, own)).toBe(folder);
});

test('native libraries: an unsupported architecture is reported with the supported ones', () => {
  expect(() => nativeLibrary(bridge, 'riscv64', 'x64')).toThrow(/riscv64: amd64 and arm64 are made/);
});

test('native libraries: a missing library fails the image', () => {
  expect(() => nativeLibrary(join(bridge, 'elsewhere'), 'arm64')).toThrow(/no library in releases\/aarch64/);
});

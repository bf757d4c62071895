import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Passed, checkUnknown, keyOf } from './passed.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-passed-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe('Passed', () => {
  test('knows in another run what passed in one', () => {
    new Passed('lint', folder).add([keyOf('a'), keyOf('b')]);
    const later = new Passed('lint', folder);
    expect([keyOf('a'), keyOf('b'), keyOf('c')].map((key) => later.has(key))).toEqual([true, true, false]);
  });

  test('keeps checks apart', () => {
    new Passed('lint', folder).add([keyOf('a')]);
    expect(new Passed('format', folder).has(keyOf('a'))).toBe(false);
  });

  test('is asked for nothing where STOWAGE_CHECKED is false', () => {
    new Passed('lint', folder).add([keyOf('a')]);
    process.env.STOWAGE_CHECKED = 'false';
    try {
      expect(new Passed('lint', folder).has(keyOf('a'))).toBe(false);
    } finally {
      delete process.env.STOWAGE_CHECKED;
    }
  });
});

test('texts that are divided elsewhere have another key', () => {
  expect(keyOf('ab', 'c')).not.toBe(keyOf('a', 'bc'));
});

test('what failed is checked again, and what passed is not', async () => {
  process.env.XDG_CACHE_HOME = folder;
  vi.spyOn(console, 'log').mockReturnValue();
  const keys = new Map(['good.ts', 'bad.ts'].map((file) => [file, keyOf(file)]));
  const checked: string[][] = [];
  const check = (files: string[]): string[] => {
    checked.push(files);
    return files.filter((file) => file === 'bad.ts');
  };
  expect([await checkUnknown('lint', keys, check), await checkUnknown('lint', keys, check)]).toEqual([false, false]);
  expect(checked).toEqual([['good.ts', 'bad.ts'], ['bad.ts']]);
});

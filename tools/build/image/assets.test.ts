import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { assetsOf } from './assets.mjs';

const folder = mkdtempSync(join(tmpdir(), 'stowage-assets-'));
afterAll(() => rmSync(folder, { recursive: true }));

function sources(files: Readonly<Record<string, string>>): string[] {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return Object.keys(files).filter((path) => path.endsWith('.ts'));
}

const reading = (name: string): string => `readFileSync(new URL('./${name}', import.meta.url), 'utf8');`;

describe('files that sources read at run time, in the image', () => {
  test('include the list of prices', () => {
    expect(assetsOf(process.cwd(), ['cloud/aws/list-prices.ts'])).toEqual([
      { name: 'list-prices.json', path: 'cloud/aws/list-prices.json' },
    ]);
  });

  test('exclude scripts, which are bundled', () => {
    expect(assetsOf(process.cwd(), ['worker/packing-pool.ts'])).toEqual([]);
  });

  test('fail the build by name when missing', () => {
    expect(() => assetsOf(folder, sources({ 'a/one.ts': reading('gone.json') }))).toThrow(
      'a/one.ts reads a/gone.json, which is not there',
    );
  });

  test('fail the build when two have one name in a folder', () => {
    const inputs = sources({
      'b/one.ts': reading('list.json'),
      'b/list.json': '{}',
      'c/two.ts': reading('list.json'),
      'c/list.json': '{}',
    });
    expect(() => assetsOf(folder, inputs)).toThrow('b/list.json and c/list.json have one name');
  });
});

import { SourceMap } from 'node:module';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { transform } from 'esbuild';
import { linesOf } from './source-lines.mjs';
import { slimmed } from './workflow-bundle.mjs';

type Payload = ConstructorParameters<typeof SourceMap>[0];
const source = `// The first line.
/** Says more than it does. */
export function longer(
  one: number, // — beyond Latin-1
  other: number,
): string {
  const sum = one + other; return '€' + sum + [1, 2, 3].map((each) => each * sum).join('');
}
export const last = (): never => {
  throw new Error('…');
};
`;

describe('the source map of the workflow bundle in an image', () => {
  let code: string;
  let full: Payload;
  beforeAll(async () => {
    const built = await transform(source, { loader: 'ts', sourcemap: 'external', sourcefile: 'a/source.ts' });
    code = built.code;
    full = JSON.parse(built.map) as Payload;
  });

  test('gives for every position the line of the full map', () => {
    const [whole, lines] = [new SourceMap(full), new SourceMap(linesOf(full) as Payload)];
    const placeIn = (map: SourceMap, row: number, column: number): unknown => {
      const found = map.findEntry(row, column);
      return 'originalLine' in found ? [found.originalSource, found.originalLine] : undefined;
    };
    const places = code.split('\n').flatMap((text, row) => Array.from(text, (_, column) => [row, column] as const));
    expect(places.length).toBeGreaterThan(100);
    for (const [row, column] of places) {
      expect([row, column, placeIn(lines, row, column)]).toEqual([row, column, placeIn(whole, row, column)]);
    }
  });

  test('is a fraction of the full map, without names and sources', () => {
    const { mappings, names, ...rest } = linesOf(full);
    expect(mappings.length).toBeLessThan(full.mappings.length / 2);
    expect({ names, ...rest }).toEqual({ version: 3, file: full.file, sources: ['a/source.ts'], names: [] });
  });

  test('refuses what is no source map', () => {
    expect(() => linesOf({ ...full, mappings: 'AA!A' })).toThrow(`a source map's mappings have no character "!"`);
  });
});

describe('the workflow bundle in an image', () => {
  const bundle = async (): Promise<string> => {
    const { code } = await transform(`var __TEMPORAL__ = { longer: 1 };\n${source.replaceAll('export ', '')}`, {
      loader: 'ts',
      charset: 'utf8',
      sourcemap: 'inline',
      sourcefile: 'webpack://__TEMPORAL__/./workflows/a.ts',
    });
    return code.replace('/**', '/*! a licence — */ /**');
  };

  test('is ASCII without comments, and behaves as before', async () => {
    const { code, files } = await slimmed(await bundle());
    expect(code).toMatch(/^[\n\x20-\x7e]*$/);
    expect(code).not.toMatch(/licence|first line/);
    expect(files).toEqual(['./workflows/a.ts']);
    // What the SDK looks for is a variable of the whole context.
    const context: { __TEMPORAL__?: unknown } = {};
    expect(runInNewContext(`${code}\nlonger(1, 2)`, context)).toBe('€3369');
    expect(context.__TEMPORAL__).toEqual({ longer: 1 });
  });

  test('gives stack traces with lines of the sources', async () => {
    const { code } = await slimmed(await bundle());
    const [, encoded = ''] = /^\/\/# sourceMappingURL=data:application\/json;base64,(.*)$/m.exec(code) ?? [];
    const map = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString()) as Payload);
    const rows = code.split('\n');
    const row = rows.findIndex((each) => each.includes('throw new Error'));
    const found = map.findEntry(row, rows[row]!.indexOf('new Error'));
    expect(found).toMatchObject({ originalSource: 'webpack://__TEMPORAL__/./workflows/a.ts', originalLine: 10 });
  });
});

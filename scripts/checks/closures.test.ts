import { describe, expect, test } from 'vitest';
import { closuresOf } from './closures.mjs';

const closureOf = (path: string, texts: Record<string, string>): string[] | undefined =>
  closuresOf(new Map(Object.entries(texts))).get(path);

describe('closuresOf', () => {
  test('has what a source imports, however far and however written', () => {
    expect(
      closureOf('a/one.ts', {
        'a/one.ts': "import type { Two } from './two.js';\nconst three = await import('../b/three.mjs');",
        'a/two.ts': "export { four } from '../b/four.js';\nimport { of } from 'rxjs';",
        'b/three.mjs': "import './none.mjs';",
        'b/three.d.mts': '',
        'b/four.ts': '',
        'b/five.ts': "import { one } from '../a/one.js';",
      }),
    ).toEqual(['a/one.ts', 'a/two.ts', 'b/three.mjs', 'b/three.d.mts', 'b/four.ts']);
  });

  test('ends where sources import one another', () => {
    const texts = { 'one.ts': "import './two.js';", 'two.ts': "import './one.js';" };
    expect(closureOf('two.ts', texts)).toEqual(['two.ts', 'one.ts']);
  });
});

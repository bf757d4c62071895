import { expect, test } from 'vitest';
import fc from 'fast-check';
import { isSame } from './same.js';

const anything = fc.anything({ withMap: true, withSet: true, maxDepth: 3 });

test('what is copied is the same', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => isSame(value, structuredClone(value))));
  expect(isSame(new Map([['a', [1]]]), new Map([['a', [1]]]))).toBe(true);
  expect(isSame(new Set(['a']), new Set(['a']))).toBe(true);
});

test('one is as much the same as the other as the other way round', () => {
  fc.assert(fc.property(anything, anything, (a, b) => isSame(a, b) === isSame(b, a)));
});

test.each<[unknown, unknown]>([
  [1, '1'],
  [null, undefined],
  [{}, []],
  [{}, new Map()],
  [new Map(), new Set()],
  [[], new Set()],
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: undefined }, {}],
  [{ a: undefined }, { b: undefined }],
  [{ a: { b: 1 } }, { a: { b: 2 } }],
  [new Set(['a']), new Set(['b'])],
  [new Map([['a', 1]]), new Map([['a', 2]])],
  [new Map([['a', 1]]), new Map([['b', 1]])],
])('%o is not the same as %o', (a, b) => {
  expect(isSame(a, b)).toBe(false);
});

import { describe, expect, it } from '@jest/globals';
import { hashText } from './hash.js';

describe('hashText', () => {
  it.each([
    ['', 'cbf29ce484222325'],
    ['a', 'af63dc4c8601ec8c'],
    ['foobar', '85944171f73967e8'],
  ])('is FNV-1a of 64 bits: of %p it is %s', (text, hash) => {
    expect(hashText(text)).toBe(hash);
  });

  it('hashes UTF-16 code units, so that earlier names stay valid', () => {
    const byBigInt = [...'\u{1f600}é'.split('')].reduce(
      (hash, unit) => ((hash ^ BigInt(unit.charCodeAt(0))) * 0x100000001b3n) & 0xffffffffffffffffn,
      0xcbf29ce484222325n,
    );

    expect(hashText('\u{1f600}é')).toBe(byBigInt.toString(16).padStart(16, '0'));
  });
});

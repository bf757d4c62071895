import { describe, expect, test } from '@jest/globals';
import { hashDrifted, migratedStamp } from './drift-hash.js';

// Rule `drift/hashes`.
describe('hashDrifted compares a claim with its NodePool of hash b, version v2', () => {
  const current = { hash: 'b', version: 'v2' };

  test.each([
    [{ hash: 'a', version: 'v2' }, true],
    [{ hash: 'b', version: 'v2' }, false],
    [{ hash: 'a', version: 'v1' }, false],
    [{ hash: undefined, version: 'v2' }, false],
    [{ hash: 'a', version: undefined }, false],
  ])('a claim with %j has drifted: %s', (claim, drifted) => {
    expect(hashDrifted(claim, current)).toBe(drifted);
  });

  test('a claim has not drifted while its NodePool has no hash', () => {
    expect(hashDrifted({ hash: 'a', version: 'v2' }, { hash: undefined, version: 'v2' })).toBe(false);
  });
});

// Rule `node-pools/hash-version`.
describe('migratedStamp', () => {
  const current = { hash: 'b', version: 'stowage-v1' };

  test('the stamp of a claim that Karpenter launched is rewritten with its version', () => {
    expect(migratedStamp({ hash: 'a', version: 'v3' }, current, false)).toEqual(current);
    expect(migratedStamp({ hash: 'a', version: 'v3' }, current, true)).toEqual({ hash: 'a', version: 'stowage-v1' });
  });

  test('the stamp of a claim of this version is left alone', () => {
    expect(migratedStamp({ hash: 'a', version: 'stowage-v1' }, current, false)).toBeUndefined();
  });
});

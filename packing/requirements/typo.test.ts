import { describe, expect, test } from '@jest/globals';
import { probableKey } from './typo.js';

describe('the key that was probably meant (requirements/typo-hint)', () => {
  const known = ['topology.kubernetes.io/zone', 'kubernetes.io/arch', 'karpenter.sh/capacity-type'];
  test.each([
    ['topology.kubernetes.io/zon', 'topology.kubernetes.io/zone'],
    ['topolgy.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
    ['karpenter.sh/capacitytype', 'karpenter.sh/capacity-type'],
    ['kubernetes.io/acrh', 'kubernetes.io/arch'],
    ['ukbernetes.io/acrh', 'kubernetes.io/arch'],
    ['zone', 'topology.kubernetes.io/zone'],
    ['failure-domain.example.com/zone', 'topology.kubernetes.io/zone'],
    ['arch', 'kubernetes.io/arch'],
    ['example.com/team', undefined],
    ['kubernetes.io/arch', undefined],
    ['kubernetes.io/', undefined],
    ['', undefined],
  ])('%s', (key, expected) => {
    expect(probableKey(key, known)).toBe(expected);
  });

  test('two letters may be wrong anywhere, three may not', () => {
    for (const [key, expected] of [
      ['bb.io/xxarch', 'bb.io/arch'],
      ['bb.io/archxx', 'bb.io/arch'],
      ['bb.io/arxx', 'bb.io/arch'],
      ['bb.io/ar', 'bb.io/arch'],
      ['xxbb.io/arc', undefined],
      ['bb.io/archxxx', undefined],
      ['bb.io/axxx', undefined],
      ['bb.io/a', undefined],
      ['xxxbb.io/a', undefined],
    ] as const) {
      expect([key, probableKey(key, ['bb.io/arch'])]).toEqual([key, expected]);
    }
  });

  test('in a long key one letter in ten may be wrong', () => {
    const long = 'a-rather-long-domain.example.com/a-name';
    expect(long).toHaveLength(39);
    expect(probableKey(`${long}xxxx`, [long])).toBe(long);
    expect(probableKey(long.slice(0, -4), [long])).toBeUndefined();
    expect(probableKey(long.slice(0, -3), [long])).toBe(long);
    expect(probableKey(`${long}xxxxx`, [long])).toBeUndefined();
  });

  test('the nearest key is meant, with the same name after the slash counting as one letter less; among equals the first', () => {
    expect(probableKey('a.io/zonn', ['a.io/zont', 'a.io/zon'])).toBe('a.io/zon');
    expect(probableKey('a.io/zonex', ['a.io/zone', 'a.io/zo', 'a.io/zonexy'])).toBe('a.io/zone');
    expect(probableKey('b.io/zone', ['a.io/zone', 'bb.io/zonex'])).toBe('a.io/zone');
    for (const known of [
      ['a.io/zone', 'c.io/zone'],
      ['c.io/zone', 'a.io/zone'],
    ]) {
      expect(probableKey('b.io/zone', known)).toBe('a.io/zone');
    }
  });
});

import { describe, expect, test } from '@jest/globals';
import { formatResource, parseQuantity, QuantityError, parseResource, parseResources } from './quantities.js';

describe('parseQuantity', () => {
  test.each([
    ['1', 1],
    ['500m', 0.5],
    ['2Gi', 2 * 2 ** 30],
    ['1e3', 1000],
    ['1e400', 2 ** 63],
    ['-9E99', -(2 ** 63)],
    ['0e999', 0],
    ['1E3', 1000],
    ['5E', 5e18],
    ['.5', 0.5],
    ['1.5Gi', 1.5 * 2 ** 30],
    ['-3', -3],
    ['100k', 100_000],
    ['12n', 12e-9],
  ])('%s is %d', (text, value) => {
    expect(parseQuantity(text)).toBeCloseTo(value, 12);
  });

  test.each(['', 'abc', '1 Gi', '1gi', '1e', '--1', '0x10'])('refuses "%s" and names the field', (text) => {
    expect(() => parseQuantity(text, 'spec.limits.cpu')).toThrow(QuantityError);
    expect(() => parseQuantity(text, 'spec.limits.cpu')).toThrow('spec.limits.cpu');
  });
});

describe('resources', () => {
  test('resources are read with cpu in millicores and all others in base units', () => {
    expect(parseResources({ cpu: '1500m', memory: '1Gi', pods: '110', 'nvidia.com/gpu': 2 })).toEqual({
      cpu: 1500,
      memory: 2 ** 30,
      pods: 110,
      'nvidia.com/gpu': 2,
    });
  });

  test('a quantity is rounded up, and binary fractions do not add one', () => {
    expect(parseResource('cpu', '0.1')).toBe(100);
    expect(parseResource('cpu', '1.1')).toBe(1100);
    expect(parseResource('cpu', '0.0001')).toBe(1);
    expect(parseResource('memory', '100m')).toBe(1);
  });

  test.each([
    ['cpu', 1500, '1500m'],
    ['cpu', 4000, '4'],
    ['memory', 16 * 2 ** 30, '16Gi'],
    ['memory', 1000, '1000'],
    ['pods', 110, '110'],
    ['ephemeral-storage', 20 * 2 ** 30, '20Gi'],
  ])('writes %s %d as %s', (name, amount, text) => {
    expect(formatResource(name, amount)).toBe(text);
    expect(parseResource(name, text)).toBe(amount);
  });
});

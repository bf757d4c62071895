import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod, podsOf } from '../../test/builders/packing-fixtures.js';
import type { Pod } from '../../api/kubernetes.js';
import { placingOf } from '../../test/builders/placing.js';
import { noProfiles } from '../compile/universe.js';
import { Worth } from './worth.js';

const { zone } = labels;
const types = [
  instanceType('a', { cpu: 4, memory: 64, price: 0.4, spot: 0, zones: ['zone-a'] }),
  instanceType('b', { cpu: 4, memory: 64, price: 0.8, spot: 0, zones: ['zone-b'] }),
];
const inZone = (name: string) => ({ nodeSelector: { [zone]: name } });

/** What a pod of one CPU is worth where these have to be bought for. */
function worthOf(...pods: Pod[]) {
  const { compiled, feasibility } = placingOf(packingInput({ pods }, { types }));
  const worth = Worth.of(compiled, feasibility, noProfiles);
  const vector = (cpu: number, gib: number) => {
    const amounts = new Float64Array(compiled.dimensions.count);
    amounts[0] = cpu * 1000;
    amounts[1] = gib * 2 ** 30;
    return amounts;
  };
  return { worth, vector, cpu: worth.of(vector(1, 0)), memory: worth.of(vector(0, 1)) };
}

describe('worth of resources', () => {
  test('is their share of the cheapest nodes for the pods', () => {
    expect(worthOf(...podsOf(4, 'p')).cpu).toBeCloseTo(0.1, 6);
    expect(worthOf(...podsOf(4, 'p', inZone('zone-b'))).cpu).toBeCloseTo(0.2, 6);
  });

  test('is 0 for a resource that is left over', () => {
    expect(worthOf(...podsOf(4, 'p')).memory).toBe(0);
  });

  test('is the mean over the requests', () => {
    const few = podsOf(1, 'p', inZone('zone-a'));
    const more = podsOf(3, 'q', inZone('zone-b'));
    expect(worthOf(...few, ...more).cpu).toBeCloseTo((0.1 + 3 * 0.2) / 4, 6);
    const large = pod('r', { cpu: '3', ...inZone('zone-a') });
    expect(worthOf(large, ...podsOf(1, 'q', inZone('zone-b'))).cpu).toBeCloseTo((3 * 0.1 + 0.2) / 4, 6);
  });

  test('ignores pods that cannot be placed', () => {
    expect(worthOf(...podsOf(4, 'p'), pod('huge', { cpu: '99' }), pod('broken', { cpu: 'x' })).cpu).toBeCloseTo(0.1, 6);
  });

  test('is that of the right resource where unplaceable pods request others', () => {
    const [unsold, sold] = ['example.com/a', 'example.com/b'];
    const huge = pod('huge', { requests: { [unsold]: '1' } });
    const own = podsOf(4, 'p', { cpu: '100m', requests: { [sold]: '1' } });
    const special = [instanceType('s', { cpu: 4, memory: 64, price: 0.4, spot: 0, resources: { [sold]: '2' } })];
    const { compiled, feasibility } = placingOf(packingInput({ pods: [huge, ...own] }, { types: special }));
    const of = (name: string) => {
      const amounts = new Float64Array(compiled.dimensions.count);
      amounts[compiled.dimensions.names.indexOf(name)] = 1;
      return Worth.of(compiled, feasibility, noProfiles).of(amounts);
    };
    expect(compiled.dimensions.names.indexOf(unsold)).toBeLessThan(compiled.dimensions.names.indexOf(sold));
    expect([of(sold), of(unsold)]).toEqual([expect.closeTo(0.2, 6), 0]);
  });

  test('is 0 without requests', () => {
    const { cpu, memory, worth, vector } = worthOf();
    expect([cpu, memory]).toEqual([0, 0]);
    expect(worth.dissimilarity(vector(1, 1), vector(1, 1))).toBe(2);
  });

  test('of a missing amount is 0', () => {
    const { worth, vector } = worthOf(...podsOf(4, 'p'));
    expect(worth.of(vector(-1, 1))).toBe(0);
  });
});

describe('dissimilarity of two resource amounts by worth', () => {
  const both = () => worthOf(...podsOf(4, 'p'), ...podsOf(4, 'q', { cpu: '100m', memory: '15Gi' }));

  test('is 0 for multiples and 2 where nothing is in common', () => {
    const { worth, vector } = both();
    expect(worth.dissimilarity(vector(1, 16), vector(2, 32))).toBeCloseTo(0, 9);
    expect(worth.dissimilarity(vector(1, 0), vector(0, 1))).toBeCloseTo(2, 9);
    expect(worth.dissimilarity(vector(1, -9), vector(1, 0))).toBeCloseTo(0, 9);
    expect(worth.dissimilarity(vector(1, 0), vector(1, -9))).toBeCloseTo(0, 9);
  });

  test('is 2 where one amount is worth nothing', () => {
    const { worth, vector } = both();
    expect(worth.dissimilarity(vector(0, 0), vector(1, 1))).toBe(2);
    expect(worth.dissimilarity(vector(1, 1), vector(0, 0))).toBe(2);
  });
});

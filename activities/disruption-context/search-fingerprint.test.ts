import { expect, test } from '@jest/globals';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { launchesFingerprint } from './search-fingerprint.js';

const prices = [0.1, 0.2, 0.3, 0.4];
const typeWith = (change: (index: number) => Partial<Offering> = () => ({})): InstanceType => ({
  name: 'small',
  requirements: [],
  capacity: { cpu: 2000 },
  overhead: {},
  offerings: prices.map((price, i) => ({
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [`zone-${i}`] }],
    ...{ price, available: true, ...change(i) },
  })),
});
const fingerprint = (type: InstanceType): string => launchesFingerprint({ pools: new Map() }, new Map([['p', [type]]]));
const only = (...available: number[]): InstanceType => typeWith((i) => ({ available: available.includes(i) }));

test.each<[string, InstanceType, InstanceType]>([
  ['the first and the last offering, or the two between', only(0, 3), only(1, 2)],
  ['two prices that are swapped', typeWith(), typeWith((i) => (i < 2 ? { price: prices[1 - i]! } : {}))],
  ['the free instances of a reservation', typeWith(), typeWith((i) => (i === 0 ? { reservationCapacity: 1 } : {}))],
  ['what a type has', typeWith(), { ...typeWith(), capacity: { cpu: 4000 } }],
])('search fingerprint: catalogues that differ in %s have different ones, equal ones the same', (_what, one, other) => {
  expect(fingerprint(one)).not.toBe(fingerprint(other));
  expect(fingerprint(structuredClone(one))).toBe(fingerprint(one));
});

import { expect, test } from '@jest/globals';
import { poolTable } from './status-table.js';

const pool = (nodePool: string, prices: object) => ({
  ...{ nodePool, ready: 'True', message: '', nodes: 2, limits: [], ...prices },
});

// Rule `surfaces/least-possible`.
test('least price: several NodePools have a line for all, which is not the sum of their lines', () => {
  const pools = [
    pool('dear', { pricePerHour: 0.3, leastPossiblePerHour: 0.2 }),
    pool('fair', { pricePerHour: 0.1, leastPossiblePerHour: 0.1 }),
    pool('idle', { nodes: 0, pricePerHour: 0, leastPossiblePerHour: 0 }),
  ];
  expect(poolTable({ pools, leastPossiblePerHour: 0.25 })).toBe(
    `
NODEPOOL   READY   NODES   PRICE PER HOUR   LOWER BOUND      LIMITS   MESSAGE
dear       True        2   $0.3000          $0.2000 (+50%)
fair       True        2   $0.1000          $0.1000 (+0%)
idle       True        0   $0.0000          $0.0000
all                    4   $0.4000          $0.2500 (+60%)`.trimStart(),
  );
});

test('least price: unknown values are left out', () => {
  const pools = [pool('a', { pricePerHour: 0.3 }), pool('b', {})];
  expect(poolTable({ pools })).toBe(
    `
NODEPOOL   READY   NODES   PRICE PER HOUR   LOWER BOUND   LIMITS   MESSAGE
a          True        2   $0.3000
b          True        2
all                    4`.trimStart(),
  );
});

test('least price: the distance to the bound is printed only for the same pods at the same time', () => {
  const pools = [
    pool('less', { nodes: 3, draining: 1, pricePerHour: 0.3, leastPossiblePerHour: 0.2, leastPossibleWithout: 1 }),
    pool('late', { pricePerHour: 0.1, leastPossiblePerHour: 0.2 }),
  ];
  expect(poolTable({ pools, leastPossiblePerHour: 0.3, leastPossibleWithout: 2 })).toBe(
    `
NODEPOOL   READY   NODES   PRICE PER HOUR   LOWER BOUND                LIMITS   MESSAGE
less       True        3   $0.3000          $0.2000 (without 1 pod)             1 of the nodes is draining
late       True        2   $0.1000          $0.1000
all                    5   $0.4000          $0.3000 (without 2 pods)`.trimStart(),
  );
});

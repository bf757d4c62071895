import { expect, test } from '@jest/globals';
import { conditionOf, withReady } from './conditions.js';

test.each([
  ['True', 2, 'True'],
  ['True', undefined, 'True'],
  ['True', 1, 'Unknown'],
  ['False', 2, 'False'],
  ['False', 1, 'Unknown'],
  ['Unknown', 2, 'Unknown'],
] as const)('Ready of generation 2 over %s of generation %s is %s', (status, generation, ready) => {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const conditions = withReady([{ type: 'SubnetsReady', status, ...observed }], ['SubnetsReady'], {
    now: 0,
    generation: 2,
  });
  expect(conditionOf(conditions, 'Ready')?.status).toBe(ready);
});

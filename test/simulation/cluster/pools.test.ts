import { expect, test } from '@jest/globals';
import { parseQuantity } from '../../../core/quantities.js';
import { replicasFor, workloads } from './pools.js';
import { mostCpus } from './world.js';

test.each([1, 10, 100])('packing the pods for %d nodes fills that many of the largest nodes, and no more', (nodes) => {
  const cpus = workloads.reduce((sum, { requests }) => sum + parseQuantity(requests['cpu'] ?? ''), 0);

  const used = (replicasFor(nodes) * cpus) / mostCpus;

  expect(used).toBeLessThanOrEqual(nodes);
  expect(used).toBeGreaterThan(nodes * 0.7);
});

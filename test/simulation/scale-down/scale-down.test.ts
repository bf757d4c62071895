import { expect, test } from '@jest/globals';
import { simulateScaleDown } from './scale-down.js';

// Processor time, not a wait: other tests may run beside it.
const small = { replicas: { before: 40, after: 20 }, pool: { consolidateAfter: '30s', nodes: '100%' } };

test('a simulated scale-down ends with a cheaper fleet, and the same seed gives the same run', async () => {
  const lines: string[] = [];
  const first = await simulateScaleDown(3, small, (line) => void lines.push(line));
  const again = await simulateScaleDown(3, small);

  expect(again).toEqual(first);
  expect(first.priceAfter).toBeLessThan(0.7 * first.priceBefore);
  expect(first.podsMoved).toBeGreaterThan(0);
  expect(first.movesDone).toBeGreaterThan(0);
  // consolidateAfter runs anew for nodes that lost pods, and decisions prove stable for fifteen seconds.
  expect(first.seconds).toBeGreaterThan(30);
  expect(lines.some((line) => line.includes('decided'))).toBe(true);
});

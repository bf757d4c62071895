import { expect, test } from '@jest/globals';
import { frontierOf } from '../bound/frontier.js';
import { instanceType, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { frontierDocument, frontierText } from './plan-table.js';

const onDemandOnly = ({ offerings, ...type }: ReturnType<typeof instanceType>) => ({
  ...type,
  offerings: offerings.filter(({ requirements }) => requirements[1]?.values?.[0] === 'on-demand'),
});
const types = [instanceType('small', { cpu: 2, price: 0.2 }), instanceType('large', { cpu: 8, price: 1 })].map(
  onDemandOnly,
);
const frontier = (...pods: ReturnType<typeof podsOf>) => frontierOf(packingInput({ pods }, { types }));
const eight = podsOf(8, 'p', { cpu: '2' });

test('plan --frontier prints a table that marks the default plan and the node cost from which each plan is best', () => {
  const text = frontierText(frontier(...eight), 12.3);
  const [, , cheapest, fewest] = text.split('\n');
  expect(cheapest!.trim().split(/\s{2,}/)).toEqual(['*', '8', '$1.6000', '0.0%', '$1.6000', '$0.0000', '8 small']);
  expect(fewest!.trim().split(/\s{2,}/)).toEqual(['2', '$2.0000', '25.0%', '$2.0000', '$0.0667', '2 large']);
  expect(text).toContain('* is the plan.');
});

test('plan --frontier counts unplaced pods, and prints nothing where nothing is launched', () => {
  expect(frontierText(frontier(...podsOf(1, 'huge', { cpu: '64' })), 1)).toBe('No node would be launched.\n');
  const text = frontierText(frontier(...eight, ...podsOf(1, 'huge', { cpu: '64' })), 1);
  expect(text).toContain('1 pod cannot be placed; run without --frontier to see why.');
});

test('plan --frontier prints the same as JSON', () => {
  const { points, taken, unschedulable, lowerBoundPerHour } = frontierDocument(frontier(...eight), 1);
  expect(taken).toEqual({ nodes: 8, pricePerHour: 1.6 });
  expect(points).toEqual([
    {
      nodes: 8,
      pricePerHour: 1.6,
      nodeCost: 0,
      instanceTypes: { small: 8 },
      lowerBoundPerHour: expect.closeTo(1.6, 6),
    },
    {
      nodes: 2,
      pricePerHour: 2,
      nodeCost: 0.066666667,
      instanceTypes: { large: 2 },
      lowerBoundPerHour: expect.closeTo(2, 6),
    },
  ]);
  expect(unschedulable).toBe(0);
  expect(lowerBoundPerHour).toBeLessThanOrEqual(1.6);
});

import { expect, test } from '@jest/globals';
import { instanceType, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { frontierOf } from './frontier.js';

const onDemandOnly = ({ offerings, ...type }: ReturnType<typeof instanceType>) => ({
  ...type,
  offerings: offerings.filter(({ requirements }) => requirements[1]?.values?.[0] === 'on-demand'),
});
const types = [
  instanceType('small', { cpu: 2, price: 0.2 }),
  instanceType('medium', { cpu: 8, price: 1 }),
  instanceType('large', { cpu: 16, price: 2.4 }),
].map(onDemandOnly);

/** Nodes, price, and from which cost of a node on. */
const shown = (...args: Parameters<typeof packingInput>) =>
  frontierOf(packingInput(...args)).points.map(({ nodes, pricePerHour, nodeCost }) => [
    nodes,
    Number(pricePerHour.toFixed(6)),
    nodeCost === undefined ? undefined : Number(nodeCost.toFixed(6)),
  ]);

// Rule `provisioning/frontier`.
test('frontier of price and number of nodes: each plan with the node cost from which it is cheapest', () => {
  expect(shown({ pods: podsOf(8, 'p', { cpu: '2' }) }, { types })).toEqual([
    [8, 1.6, 0],
    [2, 2, 0.066667],
    [1, 2.4, 0.4],
  ]);
});

test('frontier: one plan where the cheapest has fewest nodes, or nothing is launched', () => {
  expect(shown({ pods: podsOf(1, 'p', { cpu: '2' }) }, { types })).toEqual([[1, 0.2, 0]]);
  expect(shown({ pods: [] }, { types })).toEqual([[0, 0, 0]]);
});

test('frontier: includes the plan made by default, unless another is better', () => {
  const { taken, points } = frontierOf(packingInput({ pods: podsOf(40, 'p', { cpu: '2' }) }, { types }));
  const better = points.filter(
    ({ nodes, pricePerHour }) => nodes <= taken.newNodeClaims.length && pricePerHour <= taken.pricePerHour + 1e-9,
  );
  expect(better).not.toEqual([]);
  const prices = points.map(({ plan }) =>
    plan.newNodeClaims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0),
  );
  points.forEach(({ pricePerHour }, i) => expect(pricePerHour).toBeCloseTo(prices[i]!, 9));
});

test("frontier: a policy's nodeCost counts in every plan", () => {
  const policy = {
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name: 'agents' },
    spec: { nodeCost: '0.1' },
  } as never;
  expect(shown({ pods: podsOf(8, 'p', { cpu: '2' }), disruptionPolicies: [policy] }, { types })).toEqual([
    [2, 2.2, 0],
    [1, 2.5, 0.3],
  ]);
});

test('frontier: excludes plans that leave more pods unplaced', () => {
  const pods = [...podsOf(4, 'p', { cpu: '2' }), ...podsOf(1, 'huge', { cpu: '64' })];
  const { taken, points } = frontierOf(packingInput({ pods }, { types }));
  expect(taken.unschedulable).toHaveLength(1);
  for (const { plan } of points) expect(plan.unschedulable.map(({ pod }) => pod)).toEqual(['default/huge-0']);
});

test('frontier: the lower bound for each number of nodes is the price with the types that so few nodes need', () => {
  const { points, taken } = frontierOf(packingInput({ pods: podsOf(8, 'p', { cpu: '2' }) }, { types }));
  // Eight pods in one node need the large type, and in two nodes the medium one: there is no cheaper way.
  expect(points.map(({ nodes, lowerBoundPerHour }) => [nodes, Number(lowerBoundPerHour.toFixed(6))])).toEqual([
    [8, 1.6],
    [2, 2],
    [1, 2.4],
  ]);
  expect(taken.lowerBoundPerHour).toBeCloseTo(1.6, 6);
});

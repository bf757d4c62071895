import { expect, test } from '@jest/globals';
import { instanceType, node, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import { withProvenBounds } from '../../cli/bound/prove.js';

const onDemandOnly = ({ offerings, ...type }: ReturnType<typeof instanceType>) => ({
  ...type,
  offerings: offerings.filter(({ requirements }) => requirements[1]?.values?.[0] === 'on-demand'),
});
const typesAt = (price: number) =>
  [instanceType('small', { cpu: 2, price: 0.2 }), instanceType('large', { cpu: 8, price })].map(onDemandOnly);

// Rule `provisioning/fewest-nodes`: each node of a plan for $1.60 counts $0.008 more.
test.each([
  ['the same price', 0.8, 8, 2],
  ['a little more', 0.82, 8, 2],
  ['nearly what they save', 0.823, 8, 2],
  ['no more than that', 0.83, 8, 8],
  ['a little more, of a plan too large to be searched as a whole', 0.82, 800, 200],
])('fewer nodes are preferred for %s', (_, price, pods, nodes) => {
  const result = plan(packingInput({ pods: podsOf(pods, 'p', { cpu: '2' }) }, { types: typesAt(price) }));
  expect(result.newNodeClaims).toHaveLength(nodes);
  expect(result.pricePerHour).toBeCloseTo(nodes === pods ? pods * 0.2 : nodes * price, 9);
});

test('the cheapest plan is made where node cost is set to zero', () => {
  const input = packingInput({ pods: podsOf(8, 'p', { cpu: '2' }) }, { types: typesAt(0.82) });
  const cheapest = plan({ ...input, settings: { ...input.settings, isCheapest: true } });
  expect(cheapest.newNodeClaims).toHaveLength(8);
});

test('no plan costs more than a tenth more to have fewer nodes', () => {
  const pods = podsOf(400, 'p', { cpu: '2' });
  const planAt = (price: number) => plan(packingInput({ pods }, { types: typesAt(price) }));
  expect(planAt(0.86).newNodeClaims).toHaveLength(100);
  const { newNodeClaims, pricePerHour } = planAt(0.97);
  expect(newNodeClaims).toHaveLength(400);
  expect(pricePerHour).toBeCloseTo(80, 9);
});

test('a plan with fewer nodes is compared with plans of at most as many nodes', () => {
  // Eight small nodes cost $1.60, and two large ones $1.64: no other two nodes hold the pods.
  const input = packingInput({ pods: podsOf(8, 'p', { cpu: '2' }) }, { types: typesAt(0.82) });
  const proven = withProvenBounds(input, plan(input));
  expect(proven.newNodeClaims).toHaveLength(2);
  expect(proven.lowerBoundPerHour).toBeCloseTo(1.6, 6);
  expect(proven.comparableLowerBoundPerHour).toBeCloseTo(1.64, 6);
  expect(proven.boundLeavesOut).toBeUndefined();
});

test('existing nodes do not count among the fewer nodes', () => {
  const nodes = [node('there', { cpu: '8' })];
  const input = packingInput({ pods: podsOf(12, 'p', { cpu: '2' }), nodes }, { types: typesAt(0.82) });
  const proven = withProvenBounds(input, plan(input));
  expect(proven.existingNodes.map(({ pods }) => pods.length)).toEqual([4]);
  expect(proven.newNodeClaims).toHaveLength(2);
  expect(proven.comparableLowerBoundPerHour).toBeCloseTo(1.64, 6);
});

import { expect, test } from 'vitest';
import { instanceType, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

const onDemandOnly = ({ offerings, ...type }: ReturnType<typeof instanceType>) => ({
  ...type,
  offerings: offerings.filter(({ requirements }) => requirements[1]?.values?.[0] === 'on-demand'),
});
const typesAt = (price: number) =>
  [instanceType('small', { cpu: 2, price: 0.2 }), instanceType('large', { cpu: 8, price })].map(onDemandOnly);

// Rule `provisioning/fewest-nodes`.
test.each([
  ['the cheapest price', 0.8, 8, 2],
  ['less than 1% more', 0.805, 8, 2],
  ['more than that', 0.82, 8, 8],
  ['part of the pods, as far as 1% goes', 0.815, 40, 25],
  ['a plan too large to be searched as a whole', 0.805, 800, 200],
])('fewer nodes are taken for %s', (_, price, pods, nodes) => {
  const result = plan(packingInput({ pods: podsOf(pods, 'p', { cpu: '2' }) }, { types: typesAt(price) }));
  expect(result.newNodeClaims).toHaveLength(nodes);
  expect(result.pricePerHour).toBeLessThanOrEqual(pods * 0.2 * 1.01);
});

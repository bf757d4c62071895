import { expect, test } from '@jest/globals';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { instanceType, packingInput, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

const policy = (nodeCost: string, spec: object = {}, name = 'p'): DisruptionPolicy =>
  disruptionPolicies.mustParse({
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name },
    spec: { nodeCost, ...spec },
  });
const types = [instanceType('small', { cpu: 2, price: 0.2 }), instanceType('large', { cpu: 8, price: 0.9 })].map(
  (type) => ({
    ...type,
    offerings: type.offerings.filter(({ requirements }) => requirements[1]?.values?.[0] === 'on-demand'),
  }),
);
const planned = (...policies: DisruptionPolicy[]) => {
  const result = plan(packingInput({ pods: podsOf(4, 'p', { cpu: '2' }), disruptionPolicies: policies }, { types }));
  const bought = result.newNodeClaims.map(({ cheapest }) => cheapest.instanceType);
  return { bought, price: result.pricePerHour, bound: result.lowerBoundPerHour };
};

// Rule `node-pools/node-cost`.
test("a policy's nodeCost decides between many small nodes and one large one", () => {
  const ignored = planned();
  expect(ignored.bought).toEqual(['small', 'small', 'small', 'small']);
  expect(ignored.price).toBeCloseTo(0.8);

  const whole = planned(policy('0.05'));
  expect(whole.bought).toEqual(['large']);
  expect(whole.price).toBeCloseTo(0.95);
  // The other plan would have cost a dollar.
  expect(whole.price).toBeLessThan(ignored.price + 4 * 0.05);
  expect(whole.bound).toBeGreaterThan(ignored.bound);
});

test('the heaviest policy that selects a NodePool sets its nodeCost', () => {
  expect(planned(policy('0.05', { weight: 1 }), policy('0', { weight: 2 }, 'heavier')).bought).toHaveLength(4);
  expect(planned(policy('0.05', { nodePoolSelector: { matchLabels: { other: 'pool' } } })).bought).toHaveLength(4);
  const nodePools = [pool('with-agents', { labels: { team: 'a' } }), pool('bare', { labels: { team: 'b' } })];
  const labelled = nodePools.map((each, i) => ({
    ...each,
    metadata: { ...each.metadata, labels: { agents: String(i === 0) } },
  }));
  const agents = policy('0.05', { nodePoolSelector: { matchLabels: { agents: 'true' } } });
  const result = plan(
    packingInput({ nodePools: labelled, pods: podsOf(4, 'p', { cpu: '2' }), disruptionPolicies: [agents] }, { types }),
  );
  expect(new Set(result.newNodeClaims.map(({ nodePool }) => nodePool))).toEqual(new Set(['bare']));
});

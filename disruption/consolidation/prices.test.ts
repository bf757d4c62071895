import { describe, expect, test } from '@jest/globals';
import { awsLabels } from '../../api/aws/labels.js';
import { nodeOverlays } from '../../api/karpenter/node-overlay.js';
import { labels } from '../../api/labels.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { InstanceType } from '../../core/instance-type.js';
import { input, large, node, pod, pool, small } from '../../test/builders/consolidation.js';
import { consolidateFleet } from './search.js';

const policy = (nodeCost: string) =>
  disruptionPolicies.mustParse({
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name: 'agents' },
    spec: { nodeCost },
  });
const overlay = (instanceType: string, priceAdjustment: string) =>
  nodeOverlays.mustParse({
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name: 'discount' },
    spec: {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [instanceType] }],
      priceAdjustment,
    },
  });

/** The type with a reservation of its own for one more instance. */
function reservedToo(type: InstanceType, price: number): InstanceType {
  const among = (key: string, ...values: string[]) => ({ key, operator: 'In' as const, values });
  const capacityTypes = among(labels.capacityType, 'on-demand', 'reserved');
  const requirements = [
    ...[among(labels.zone, 'a'), among(labels.capacityType, 'reserved')],
    among(awsLabels.capacityReservationId, `cr-${type.name}`),
  ];
  return {
    ...type,
    requirements: type.requirements.map((each) => (each.key === labels.capacityType ? capacityTypes : each)),
    offerings: [...type.offerings, { requirements, price, available: true, reservationCapacity: 1 }],
  };
}

/** Nodes that are there are priced as those that may be launched (disruption-cost/price-of-a-node, node-pools/node-cost). */
describe('prices of nodes in consolidation', () => {
  const types = [small, large];
  const twoSmall = {
    types,
    nodes: [node('n0', small), node('n1', small)],
    pods: [pod('p-0', 'n0', 1.5), pod('p-1', 'n1', 1.5)],
  };

  test("include the policy's nodeCost, so that fewer nodes save it", () => {
    expect(consolidateFleet(input(twoSmall)).commands).toEqual([]);
    const result = consolidateFleet(input({ ...twoSmall, more: { disruptionPolicies: [policy('0.05')] } }));
    expect(result.priceBefore).toBeCloseTo(0.3, 9);
    expect(result.priceAfter).toBeCloseTo(0.25, 9);
    expect(result.nodesAfter).toBe(1);
  });

  test('are overlaid: a discount is no reason to replace a node by its like', () => {
    const world = { types, nodes: [node('n0', large)], pods: [pod('p-0', 'n0', 3)] };
    const result = consolidateFleet(input({ ...world, more: { nodeOverlays: [overlay('large', '-50%')] } }));
    expect(result.priceBefore).toBeCloseTo(0.1, 9);
    expect(result.commands).toEqual([]);
  });

  test('are discounted for candidates too: a node cheaper than new capacity for its pods stays', () => {
    const world = { types, nodes: [node('n0', large)], pods: [pod('p-0', 'n0', 1)] };
    expect(consolidateFleet(input(world)).commands).toHaveLength(1);
    const discounted = consolidateFleet(input({ ...world, more: { nodeOverlays: [overlay('large', '-60%')] } }));
    expect(discounted.commands).toEqual([]);
  });

  // Paid for: prices are an order alone (reserved-capacity/price).
  test('of reservations are an order among them, whatever nodeCost is', () => {
    const reserved = [reservedToo(small, 1e-8), reservedToo(large, 2e-8)] as const;
    const more = { disruptionPolicies: [policy('0.0072')] };
    const on = (of: InstanceType, cpu: number) => {
      const world = { types: [...reserved], nodes: [node('n0', of, { capacityType: 'reserved' })], more };
      const result = consolidateFleet({
        ...input({ ...world, pods: [pod('p-0', 'n0', cpu)] }),
        disruptionWeight: 0.05,
      });
      return result.commands.map(({ replacements }) => replacements.map(({ instanceTypes }) => instanceTypes));
    };

    expect(on(reserved[1], 1)).toEqual([[['small']]]);
    expect(on(reserved[1], 3)).toEqual([]);
    expect(on(reserved[0], 1)).toEqual([]);
  });

  test("are the cloud's for a node whose NodePool is gone", () => {
    const world = { types, pools: [pool('other')], nodes: [node('n0', large)], pods: [pod('p-0', 'n0', 3)] };
    const result = consolidateFleet(input({ ...world, more: { disruptionPolicies: [policy('0.05')] } }));
    expect(result.priceBefore).toBeCloseTo(0.2, 9);
  });
});

import { describe, expect, test } from 'vitest';
import { nodeOverlays } from '../../api/karpenter/node-overlay.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
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

/** Nodes that are there are priced as those that may be launched (disruption-cost/price-of-a-node, node-pools/node-cost). */
describe('prices of nodes', () => {
  const types = [small, large];
  const twoSmall = {
    types,
    nodes: [node('n0', small), node('n1', small)],
    pods: [pod('p-0', 'n0', 1.5), pod('p-1', 'n1', 1.5)],
  };

  test('hold what a node costs its user besides, so that fewer nodes save it', () => {
    expect(consolidateFleet(input(twoSmall)).commands).toEqual([]);
    const result = consolidateFleet(input({ ...twoSmall, more: { disruptionPolicies: [policy('0.05')] } }));
    expect(result.priceBefore).toBeCloseTo(0.3, 9);
    expect(result.priceAfter).toBeCloseTo(0.25, 9);
    expect(result.nodesAfter).toBe(1);
  });

  test('hold what overlays make of them: a discount is no reason to replace a node by its like', () => {
    const world = { types, nodes: [node('n0', large)], pods: [pod('p-0', 'n0', 3)] };
    const result = consolidateFleet(input({ ...world, more: { nodeOverlays: [overlay('large', '-50%')] } }));
    expect(result.priceBefore).toBeCloseTo(0.1, 9);
    expect(result.commands).toEqual([]);
  });

  test('hold a discount of what goes, too: a node that costs less than its pods would anew stays', () => {
    const world = { types, nodes: [node('n0', large)], pods: [pod('p-0', 'n0', 1)] };
    expect(consolidateFleet(input(world)).commands).toHaveLength(1);
    const discounted = consolidateFleet(input({ ...world, more: { nodeOverlays: [overlay('large', '-60%')] } }));
    expect(discounted.commands).toEqual([]);
  });

  test('are those of the cloud for a node whose NodePool is gone', () => {
    const world = { types, pools: [pool('other')], nodes: [node('n0', large)], pods: [pod('p-0', 'n0', 3)] };
    const result = consolidateFleet(input({ ...world, more: { disruptionPolicies: [policy('0.05')] } }));
    expect(result.priceBefore).toBeCloseTo(0.2, 9);
  });
});

import { describe, expect, test } from '@jest/globals';
import { consolidateFleet } from '../disruption/consolidation/search.js';
import { plan } from '../packing/plan.js';
import { crowd, leftovers, mixedCluster, warmUp } from './warm-up.js';

describe('inputs on which a packing thread warms up', () => {
  test('have many pods, all of which get a node', () => {
    const { newNodeClaims, unschedulable } = plan(crowd());
    expect(unschedulable).toEqual([]);
    expect(newNodeClaims.length).toBeGreaterThan(100);
  });

  test('have a small plan with existing nodes, launches in several pools, and unplaced pods', () => {
    const { newNodeClaims, existingNodes, unschedulable } = plan(mixedCluster());
    expect(existingNodes.length).toBeGreaterThan(0);
    expect(new Set(newNodeClaims.map(({ nodePool }) => nodePool)).size).toBeGreaterThan(1);
    expect(unschedulable.length).toBeGreaterThan(0);
  });

  test('have nodes that are removed without replacement and nodes that others replace', () => {
    const { commands, nodesAfter, nodesBefore } = consolidateFleet(leftovers());
    expect(new Set(commands.map(({ decision }) => decision))).toEqual(new Set(['delete', 'replace']));
    expect(nodesAfter).toBeLessThan(nodesBefore);
  });

  test('end by themselves, and give the same result each time', () => {
    const results = [...warmUp('consolidate')];
    expect(results.length).toBeGreaterThan(1);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
  });
});

import { describe, expect, test } from 'vitest';
import { consolidateFleet } from '../disruption/consolidation/search.js';
import { plan } from '../packing/plan.js';
import { mixedCluster, crowd, leftovers } from './made-up-clusters.js';
import { warmUp } from './warm-up.js';

describe('what a packing thread warms up on', () => {
  test('pods in bulk, all of which find a node', () => {
    const { newNodeClaims, unschedulable } = plan(crowd());
    expect(unschedulable).toEqual([]);
    expect(newNodeClaims.length).toBeGreaterThan(100);
  });

  test('a small plan with nodes that exist, nodes to launch in several pools, and pods left out', () => {
    const { newNodeClaims, existingNodes, unschedulable } = plan(mixedCluster());
    expect(existingNodes.length).toBeGreaterThan(0);
    expect(new Set(newNodeClaims.map(({ nodePool }) => nodePool)).size).toBeGreaterThan(1);
    expect(unschedulable.length).toBeGreaterThan(0);
  });

  test('nodes that go for nothing and nodes that others replace', () => {
    const { commands, nodesAfter, nodesBefore } = consolidateFleet(leftovers());
    expect(new Set(commands.map(({ decision }) => decision))).toEqual(new Set(['delete', 'replace']));
    expect(nodesAfter).toBeLessThan(nodesBefore);
  });

  test('it ends by itself, and solves the same each time', () => {
    const results = [...warmUp('consolidate')];
    expect(results.length).toBeGreaterThan(1);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
  });
});

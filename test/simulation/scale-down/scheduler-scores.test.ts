import { describe, expect, test } from '@jest/globals';
import { balancedAllocation, favourites, fits, leastAllocated } from './scheduler-scores.js';
import type { SchedulerNode, SchedulerPod } from './scheduler-scores.js';

const pod: SchedulerPod = { app: 'web', requests: { cpu: 1000, memory: 2000, pods: 1 } };

function node(name: string, more: Partial<SchedulerNode> = {}): SchedulerNode {
  return {
    name,
    zone: 'a',
    softTaints: 0,
    allocatable: { cpu: 4000, memory: 8000, pods: 10 },
    requested: { cpu: 0, memory: 0, pods: 0 },
    pods: new Map(),
    ...more,
  };
}

const best = (...nodes: SchedulerNode[]): string[] => favourites(pod, nodes, nodes).map(({ name }) => name);

// Expected numbers follow kube-scheduler's own arithmetic at v1.36.1.
describe('scores of the simulated kube-scheduler', () => {
  test('LeastAllocated scores a node by the share that stays free after the pod', () => {
    expect(leastAllocated(pod, node('n'))).toBe(75);
    expect(leastAllocated(pod, node('n', { requested: { cpu: 2000, memory: 0, pods: 1 } }))).toBe(50);
  });

  test('BalancedAllocation scores a pod higher that evens out CPU and memory', () => {
    expect(balancedAllocation(pod, node('n'))).toBe(75);
    // Half of the CPUs are taken and no memory: 75 before, (1 - |0.75 - 0.5| / 2) = 87 after it asks for memory alone.
    const tipped = node('n', { requested: { cpu: 2000, memory: 0, pods: 1 } });
    const evens = { app: 'web', requests: { cpu: 1000, memory: 4000, pods: 1 } };
    expect(balancedAllocation(evens, tipped)).toBe(50 + Math.trunc((50 + 87 - 75) / 2));
  });

  test('a pod fits only within free CPU, memory and number of pods', () => {
    expect(fits(pod, node('n', { requested: { cpu: 3000, memory: 6000, pods: 9 } }))).toBe(true);
    expect(fits(pod, node('n', { requested: { cpu: 3001, memory: 0, pods: 0 } }))).toBe(false);
    expect(fits(pod, node('n', { requested: { cpu: 0, memory: 0, pods: 10 } }))).toBe(false);
  });
});

describe('the nodes with the highest score in the simulated kube-scheduler', () => {
  test('are all of several equal ones', () => {
    expect(best(node('a'), node('b'))).toEqual(['a', 'b']);
  });

  test('are the emptier ones', () => {
    expect(best(node('a', { requested: { cpu: 2000, memory: 4000, pods: 2 } }), node('b'))).toEqual(['b']);
  });

  test('spread the pods of a ReplicaSet, which outweighs room', () => {
    const room = node('a', { pods: new Map([['web', 4]]) });
    const full = node('b', { requested: { cpu: 2000, memory: 4000, pods: 2 }, pods: new Map([['db', 2]]) });
    expect(best(room, full)).toEqual(['b']);
  });

  test('spread pods over zones, counting those on unschedulable nodes too', () => {
    const closed = node('c', { zone: 'a', pods: new Map([['web', 5]]) });
    const open = [node('a', { zone: 'a' }), node('b', { zone: 'b' })];
    expect(favourites(pod, open, [...open, closed]).map(({ name }) => name)).toEqual(['b']);
  });

  test('avoid a PreferNoSchedule taint before all else, and ignore it where all nodes have one', () => {
    const tainted = node('a', { softTaints: 1 });
    const crowded = node('b', { requested: { cpu: 2000, memory: 4000, pods: 4 }, pods: new Map([['web', 4]]) });
    expect(best(tainted, crowded)).toEqual(['b']);
    expect(best(tainted, node('c', { softTaints: 1 }))).toEqual(['a', 'c']);
  });
});

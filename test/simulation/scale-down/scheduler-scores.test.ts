import { describe, expect, test } from 'vitest';
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
describe('scores', () => {
  test('a node is as good as what the pod leaves of it', () => {
    expect(leastAllocated(pod, node('n'))).toBe(75);
    expect(leastAllocated(pod, node('n', { requested: { cpu: 2000, memory: 0, pods: 1 } }))).toBe(50);
  });

  test('a pod that evens out CPUs and memory is liked, one that tips them is not', () => {
    expect(balancedAllocation(pod, node('n'))).toBe(75);
    // Half of the CPUs are taken and no memory: 75 before, (1 - |0.75 - 0.5| / 2) = 87 after it asks for memory alone.
    const tipped = node('n', { requested: { cpu: 2000, memory: 0, pods: 1 } });
    const evens = { app: 'web', requests: { cpu: 1000, memory: 4000, pods: 1 } };
    expect(balancedAllocation(evens, tipped)).toBe(50 + Math.trunc((50 + 87 - 75) / 2));
  });

  test('no more fits than there is, of pods as well', () => {
    expect(fits(pod, node('n', { requested: { cpu: 3000, memory: 6000, pods: 9 } }))).toBe(true);
    expect(fits(pod, node('n', { requested: { cpu: 3001, memory: 0, pods: 0 } }))).toBe(false);
    expect(fits(pod, node('n', { requested: { cpu: 0, memory: 0, pods: 10 } }))).toBe(false);
  });
});

describe('favourites', () => {
  test('equal nodes are equally liked', () => {
    expect(best(node('a'), node('b'))).toEqual(['a', 'b']);
  });

  test('the emptier one', () => {
    expect(best(node('a', { requested: { cpu: 2000, memory: 4000, pods: 2 } }), node('b'))).toEqual(['b']);
  });

  test('pods of the same ReplicaSet are spread, which counts more than room', () => {
    const room = node('a', { pods: new Map([['web', 4]]) });
    const full = node('b', { requested: { cpu: 2000, memory: 4000, pods: 2 }, pods: new Map([['db', 2]]) });
    expect(best(room, full)).toEqual(['b']);
  });

  test('zones are spread over as well, and pods on nodes that take none count', () => {
    const closed = node('c', { zone: 'a', pods: new Map([['web', 5]]) });
    const open = [node('a', { zone: 'a' }), node('b', { zone: 'b' })];
    expect(favourites(pod, open, [...open, closed]).map(({ name }) => name)).toEqual(['b']);
  });

  test('a soft taint outweighs both, and keeps nobody away where all have it', () => {
    const tainted = node('a', { softTaints: 1 });
    const crowded = node('b', { requested: { cpu: 2000, memory: 4000, pods: 4 }, pods: new Map([['web', 4]]) });
    expect(best(tainted, crowded)).toEqual(['b']);
    expect(best(tainted, node('c', { softTaints: 1 }))).toEqual(['a', 'c']);
  });
});

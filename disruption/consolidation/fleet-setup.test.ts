import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import {
  apartBy,
  bufferOf,
  huge,
  large,
  node,
  pending,
  pod,
  pool,
  small,
  type NodeOptions,
  type World,
} from '../../test/builders/consolidation.js';
import { named, placed, simulationOf } from '../../test/builders/simulation.js';
import type { FleetNode } from './fleet.js';

const namesOf = (loads: FleetNode['loads']): string[] =>
  [...loads.values()].flat().map(({ metadata }) => metadata.name!);
const fleet = (world: World): FleetNode[] => [...simulationOf(world).nodes];
const kept = { annotations: { [annotations.doNotDisrupt]: 'true' } };

describe('a node of the fleet', () => {
  test('has NodePool, type and capacity type of its labels, and none without them', () => {
    const { nodes, nodeClaims } = node('bare', large);
    const bare = { nodes: [{ ...nodes[0]!, metadata: { name: 'bare' } }], nodeClaims };
    expect(fleet({ nodes: [node('n0', large), { ...bare, nodeClaims: [] }] })).toMatchObject([
      { name: 'bare', nodePool: '', instanceType: '', capacityType: '', price: 0, removable: false },
      { name: 'n0', nodePool: 'default', instanceType: 'large', capacityType: 'on-demand', price: 0.2, cost: 1 },
    ]);
  });

  test('has by class the pods that need another node when it is removed', () => {
    const pods = [pod('web-0', 'n0', 1), pod('web-1', 'n0', 1), pod('db-0', 'n0', 1.5), pod('web-2', 'n1', 0.5)];
    const simulation = simulationOf({ nodes: [node('n0', huge), node('n1', large, kept)], pods });
    const [n0, n1] = named(simulation, 'n0', 'n1');
    expect([...n0!.loads.values()].map((some) => some.length).sort()).toEqual([1, 2]);
    expect([n0!.cost, n0!.removable]).toEqual([4, true]);
    // Nobody moves the pods of a node that stays. They take its room once.
    expect([n1!.loads.size, n1!.removable]).toEqual([0, false]);
    simulation.setTargets([n1!]);
    expect(placed(simulation.attempts.byPlacing([n0!])!)).toEqual(['n1: db-0, web-0, web-1']);
  });

  test('may not be removed with a pod that fits nowhere, which still uses its room', () => {
    const stuck = pod('stuck-0', 'n0', 1, { spec: { nodeName: 'n0', resourceClaims: [{ name: 'gpu' }] } });
    const simulation = simulationOf({
      nodes: [node('n0', large), node('n1', large)],
      pods: [stuck, pod('web-0', 'n1', 3.5)],
    });
    const [n0, n1] = named(simulation, 'n0', 'n1');
    expect([n0!.removable, namesOf(n0!.loads)]).toEqual([false, []]);
    simulation.setTargets([n0!]);
    expect(simulation.attempts.byPlacing([n1!])).toBeUndefined();
  });

  test('may be removed only while empty under WhenEmpty', () => {
    const pools = [pool('default'), pool('calm', { disruption: { consolidationPolicy: 'WhenEmpty' } })];
    const nodes = [node('n0', large), node('n1', large, { pool: 'calm' })];
    expect(fleet({ pools, nodes }).map(({ onlyEmpty }) => onlyEmpty)).toEqual([false, true]);
  });

  // Rules `consolidation/room-on-starting-nodes`, `consolidation/consolidate-after`.
  test.each<[string, NodeOptions, boolean]>([
    ['it is initialized', {}, true],
    ['it is not', { initialized: false }, false],
    ['pods came to it moments ago', { claim: { lastPodEventTime: '2026-11-21T11:59:50Z' } }, false],
  ])('takes pods where %s: %#', (_, options, expected) => {
    const pools = [pool('default', { disruption: { consolidateAfter: '30s' } })];
    expect(fleet({ pools, nodes: [node('n0', large, options)] })[0]!.open).toBe(expected);
  });

  test('takes no pods before it exists', () => {
    const { nodeClaims } = node('n0', large);
    expect(fleet({ nodes: [{ nodes: [], nodeClaims }] }).map(({ open }) => open)).toEqual([false]);
  });
});

describe('room reserved in the fleet', () => {
  test('is that of pending pods, where they fit now', () => {
    const simulation = simulationOf({
      nodes: [node('n0', small), node('n1', large)],
      pods: [pending('big-0', 3), pending('late-0', 1), pod('web-0', 'n0', 1)],
    });
    const [n0, n1] = named(simulation, 'n0', 'n1');
    expect([n0, n1].map((each) => namesOf(each!.waiting))).toEqual([['late-0'], ['big-0']]);
    expect([n0, n1].map((each) => namesOf(each!.loads))).toEqual([['web-0'], []]);
    const isWaiting = (each: FleetNode): boolean[] =>
      [...each.loads.values(), ...each.waiting.values()].flat().map((one) => simulation.isWaiting(one));
    expect([isWaiting(n0!), isWaiting(n1!)]).toEqual([[false, true], [true]]);
  });

  test('is that of capacity buffers', () => {
    const [n0] = fleet({ nodes: [node('n0', large)], more: bufferOf(2, 1) });
    expect(namesOf(n0!.waiting)).toEqual(['spare-buffer-0', 'spare-buffer-1']);
  });

  // Rule `consolidation/room-of-pending-pods`.
  test('is for as many pods of a class as fit: new nodes come for the others', () => {
    const world = {
      nodes: [node('n0', large)],
      pods: [pending('late-0', 3), pending('late-1', 3), pending('one-0', 2)],
    };
    expect(fleet(world).map(({ waiting }) => namesOf(waiting))).toEqual([['late-0']]);
  });

  test('does not count in topology, since those pods are not bound', () => {
    const late = pending('late-0', 1, apartBy(labels.zone, 'late'));
    const simulation = simulationOf({ nodes: [node('n0', large), node('n1', small)], pods: [late] });
    const [n0, n1] = named(simulation, 'n0', 'n1');
    expect(namesOf(n0!.waiting)).toEqual(['late-0']);
    simulation.setTargets([n1!]);
    expect(placed(simulation.attempts.byPlacing([n0!])!)).toEqual(['n1: late-0']);
  });
});

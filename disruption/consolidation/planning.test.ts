import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import {
  apartBy,
  input,
  large,
  node,
  od,
  pod,
  pool,
  small,
  type,
  type World,
} from '../../test/builders/consolidation.js';
import { consolidateFleet } from './search.js';
import type { Consolidation } from './types.js';

const run = (world: World): Consolidation => consolidateFleet(input(world));
const gone = ({ commands }: Consolidation): string[] => commands.flatMap(({ candidates }) => candidates).sort();
const launched = ({ commands }: Consolidation): string[] =>
  commands.flatMap(({ replacements }) => replacements.map(({ cheapest }) => cheapest.instanceType));

const requesting = (cpu: number, memory: number): Pick<Pod, 'spec'> => ({
  spec: {
    containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: String(cpu), memory: `${memory}Gi` } } }],
  },
});
/** A pod that holds its node, and what it takes of it. */
const holding = (name: string, on: string, cpu: number, memory = cpu): Pod => {
  const { spec } = requesting(cpu, memory);
  return pod(name, on, cpu, {
    metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } },
    spec: { ...spec, nodeName: on },
  });
};
const needing = (name: string, on: string, cpu: number, memory: number): Pod =>
  pod(name, on, cpu, { spec: { ...requesting(cpu, memory).spec, nodeName: on } });
/** At most one of its app a node. */
const alone = (name: string, on: string, cpu: number): Pod =>
  pod(name, on, cpu, { spec: { ...apartBy(labels.hostname, name.split('-')[0]!), nodeName: on } });

test('nodes with pods of a namespace that asks for very many terms are consolidated as others are', () => {
  const nodes = Array.from({ length: 16 }, (_, n) => node(`n${n}`, large));
  const racks = (name: string): Pod['spec']['affinity'] => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: Array.from({ length: 100 }, (_, n) => ({
          matchExpressions: [{ key: 'example.com/rack', operator: 'NotIn', values: [`${name}-${n}`] }],
        })),
      },
    },
  });
  const namespace = 'tenant';
  const pods = nodes.map((_, n) =>
    n < 8
      ? pod(`p-${n}`, `n${n}`, 0.5, {
          metadata: { namespace },
          spec: { nodeName: `n${n}`, ...requesting(0.5, 1).spec, affinity: racks(`p-${n}`)! },
        })
      : pod(`o-${n}`, `n${n}`, 0.5),
  );
  const without = pods.map((each) => ({ ...each, spec: { ...each.spec, affinity: {} } }));
  const result = run({ nodes, pods, types: [small, large] });
  expect(gone(result)).toEqual(gone(run({ nodes, pods: without, types: [small, large] })));
  expect(gone(result)).toContain('n7');
});

describe('filling the nodes that stay', () => {
  test('places an app that needs every node before one with larger pods that can go elsewhere', () => {
    // One CPU is free on h0, three on h1: the single pod of `big` must leave h0 to `wide`.
    const nodes = [node('h0', large), node('h1', large), node('n0', large), node('n1', large)];
    const pods = [
      holding('held-0', 'h0', 3),
      holding('held-1', 'h1', 1),
      alone('big-0', 'n0', 1),
      alone('wide-0', 'n0', 0.9),
      alone('wide-1', 'n1', 0.9),
    ];
    const result = run({ nodes, pods, types: [small, large] });
    expect(gone(result)).toEqual(['n0', 'n1']);
    expect(launched(result)).toEqual([]);
  });

  test('places pods where the free room resembles their requests', () => {
    // h0 has little CPU and much memory left, h1 the other way round; each alone would take the first pods that come.
    const nodes = [node('h0', large), node('h1', large), node('n0', large), node('n1', large)];
    const pods = [
      holding('held-0', 'h0', 2, 2),
      holding('held-1', 'h1', 0.5, 13),
      needing('cpu-0', 'n0', 1.7, 1.5),
      needing('cpu-1', 'n1', 1.7, 1.5),
      needing('memory-0', 'n0', 0.9, 7),
      needing('memory-1', 'n1', 0.9, 7),
    ];
    const result = run({ nodes, pods, types: [large, type('lean', 4, 8, od(0.15)), type('rich', 4, 32, od(0.25))] });
    expect(gone(result)).toEqual(['n0', 'n1']);
    expect(launched(result)).toEqual([]);
  });
});

describe('launches in a fleet plan', () => {
  const few = (nodes: string) => [pool('default', { disruption: { budgets: [{ nodes }] } })];

  test('are one node at a time where a command cannot pay for two', () => {
    // Pods of two kinds that no node holds together well: each kind has a type that is cheap for it.
    const own = type('own', 8, 64, od(0.5));
    const forCpu = type('for-cpu', 24, 12, od(0.7));
    const forMemory = type('for-memory', 6, 256, od(0.7));
    const nodes = Array.from({ length: 8 }, (_, i) => node(`n${i}`, own));
    const pods = nodes.map((_, i) =>
      i % 2 === 0 ? needing(`cpu-${i}`, `n${i}`, 5.5, 2) : needing(`memory-${i}`, `n${i}`, 1, 60),
    );
    const result = run({ pools: few('2'), nodes, pods, types: [own, forCpu, forMemory] });
    expect(result.priceAfter).toBeCloseTo(1.4, 9);
    expect(launched(result).sort()).toEqual(['for-cpu', 'for-memory']);
  });

  test('are none for a pod that fits on a node which the plan removes later (consolidation/parts-of-a-plan)', () => {
    // Two nodes for the pods of `busy` and one for that of `idle` are the cheapest fleet, but only one node may go at a time.
    const own = type('own', 8, 32, od(0.4));
    const types = [own, type('half', 4, 16, od(0.2)), type('quarter', 2, 8, od(0.1)), type('lean', 2, 4, od(0.09))];
    const pods = [
      needing('web', 'idle', 0.5, 1),
      ...[3.9, 1.9].map((cpu, i) => needing(`db-${i}`, 'busy', cpu, i === 0 ? 15 : 7)),
    ];
    const result = run({ pools: few('1'), nodes: [node('idle', own), node('busy', own)], pods, types });
    expect(result.commands.map(({ candidates, replacements }) => [candidates, replacements.length])).toEqual([
      [['idle'], 0],
    ]);
    expect(result.priceAfter).toBeCloseTo(0.4, 9);
  });

  test('cost no more than the nodes that may be removed at once', () => {
    // All would fit on one `huge`, which costs more than two nodes; three fit on a `medium`.
    const own = type('own', 8, 32, od(0.5));
    const types = [own, type('medium', 16, 64, od(0.6)), type('huge', 64, 256, od(1.3))];
    const nodes = Array.from({ length: 9 }, (_, i) => node(`n${i}`, own));
    const pods = nodes.map((_, i) => pod(`web-${i}`, `n${i}`, 5));
    const result = run({ pools: few('2'), nodes, pods, types });
    expect(launched(result)).toEqual(['medium', 'medium', 'medium']);
    expect(result.priceAfter).toBeCloseTo(1.8, 9);
  });
});

// Rule `consolidation/fewest-nodes`.
describe('the number of launches', () => {
  const dear = type('dear', 4, 16, od(1));
  const world = (price: number): World => ({
    nodes: ['n0', 'n1', 'n2', 'n3'].map((name) => node(name, dear)),
    pods: ['n0', 'n1', 'n2', 'n3'].map((name, i) => pod(`p-${i}`, name, 1.9)),
    types: [dear, small, type('big', 8, 32, od(price))],
  });

  test.each([
    ['one for no more than three nodes count more than they cost', 0.405, ['big'], 1],
    ['small ones where one costs more than that', 0.406, ['small', 'small', 'small', 'small'], 4],
  ])('%s', (_, price, types, nodes) => {
    const result = run(world(price));
    expect(launched(result)).toEqual(types);
    expect(result.nodesAfter).toBe(nodes);
  });
});

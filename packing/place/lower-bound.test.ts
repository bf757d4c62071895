import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { readCommitments } from '../../api/stowage/commitments.js';
import type { InstanceType } from '../../core/instance-type.js';
import {
  instanceType,
  node,
  offering,
  packingInput,
  podsOf,
  type PodOptions,
} from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { apart, near, spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import type { Pod } from '../../api/kubernetes.js';
import { lowerBoundOfPlaced } from './lower-bound.js';

const { hostname, zone } = labels;
const sizes = [4, 8].map((cpu) => instanceType(`m${cpu}`, { cpu, price: cpu / 10, spot: 0, zones: ['zone-a'] }));

interface Options {
  readonly commitments?: readonly object[];
  readonly surcharge?: number;
}

/** The bound of all these pods, before any is placed. */
function boundOf(
  pods: readonly Pod[],
  objects: Partial<ClusterObjects> = {},
  types: readonly InstanceType[] = sizes,
  { commitments = [], surcharge }: Options = {},
) {
  const settings = { commitments: readCommitments({ commitments }, 'test').commitments };
  const { compiled, feasibility, book, nodes } = placingOf(
    packingInput({ ...objects, pods: [...pods] }, { types, settings }),
  );
  const free = nodes.map((each) => Float64Array.from(each.free));
  const placed = new Map(compiled.queue.map((podClass) => [podClass, podClass.pods.length]));
  return lowerBoundOfPlaced({ compiled, feasibility, book, nodes, free }, placed, surcharge);
}
const web: PodOptions = { labels: { app: 'web' } };

describe("the lower bound of a plan's price", () => {
  test('is the price of the requests at the best rate', () => {
    expect(boundOf(podsOf(16, 'p'))).toBeCloseTo(1.6, 6);
    expect(boundOf([...podsOf(8, 'p'), ...podsOf(8, 'q', { labels: { app: 'q' } })])).toBeCloseTo(1.6, 6);
    expect(boundOf([])).toBe(0);
  });

  test('adds up classes with equal requests', () => {
    const types = [instanceType('m8', { cpu: 8, price: 0.8, spot: 0 })];
    const [few, more] = [podsOf(2, 'p', web), podsOf(2, 'q', { labels: { app: 'db' } })];
    expect(boundOf([...few, ...more], {}, types)).toBe(boundOf(podsOf(4, 'p'), {}, types));
  });

  test.each<[string, PodOptions, PodOptions]>([
    ['spread', { ...web, ...spreads({ topologyKey: hostname }) }, {}],
    ['anti-affinity', { ...web, ...apart('web', hostname) }, {}],
    ['anti-affinity of others', { ...apart('web', hostname) }, web],
    [
      'host ports',
      {
        containers: [{ name: 'main', ports: [{ hostPort: 80 }], resources: { requests: { cpu: '1', memory: '1Gi' } } }],
      },
      {},
    ],
  ])('counts a node for each pod that %s separates', (_, options) => {
    const own = podsOf(3, 'p', options);
    const types = [instanceType('m8', { cpu: 8, price: 0.8, spot: 0 })];
    const isApart = options.containers !== undefined || options.labels !== undefined;
    expect(boundOf(own, {}, types)).toBeCloseTo(isApart ? 2.4 : boundOf(podsOf(3, 'q'), {}, types), 6);
  });

  const unlike: PodOptions = { tolerations: [{ key: 'x' }] };
  const eight = [instanceType('m8', { cpu: 8, price: 0.8, spot: 0 })];

  test('counts classes with equal requests as one, whatever they tolerate', () => {
    expect(boundOf([...podsOf(5, 'p'), ...podsOf(7, 'q', unlike)], {}, eight)).toBe(
      boundOf(podsOf(12, 'p'), {}, eight),
    );
  });

  test.each<[string, PodOptions]>([
    ['spread', { ...web, ...spreads({ topologyKey: hostname }) }],
    ['anti-affinity', { ...web, ...apart('web', hostname) }],
    [
      'host ports',
      {
        containers: [{ name: 'main', ports: [{ hostPort: 80 }], resources: { requests: { cpu: '1', memory: '1Gi' } } }],
      },
    ],
  ])('counts pods that %s separates beside others with equal requests', (_, options) => {
    const own = podsOf(3, 'p', options);
    expect(boundOf([...own, ...podsOf(6, 'q')], {}, eight)).toBeCloseTo(2.4, 6);
    expect(boundOf([...podsOf(6, 'a'), ...own], {}, eight)).toBeCloseTo(2.4, 6);
  });

  test('counts no nodes for affinity by host name', () => {
    const own = podsOf(16, 'p', { ...web, ...near('web', hostname) });
    expect(boundOf(own)).toBeCloseTo(1.6, 6);
  });

  test('is 0 where existing nodes have room', () => {
    const nodes = [node('a', { cpu: '4' }), node('b', { cpu: '4' })];
    expect(boundOf(podsOf(8, 'p'), { nodes })).toBe(0);
    expect(boundOf(podsOf(24, 'p'), { nodes })).toBeCloseTo(1.6, 6);
  });

  test('uses no free room of nodes that do not admit the pod', () => {
    const nodes = [node('a', { cpu: '64', taints: [{ key: 'own', effect: 'NoSchedule' }] })];
    expect(boundOf(podsOf(8, 'p'), { nodes })).toBeCloseTo(0.8, 6);
    const some = [...podsOf(8, 'p'), ...podsOf(8, 'q', { tolerations: [{ key: 'own' }] })];
    expect(boundOf(some, { nodes })).toBeCloseTo(0.8, 6);
  });

  test('counts pods that only some of many nodes admit on those', () => {
    const nodes = [node('a', { cpu: '8', labels: { disk: 'ssd' } }), node('b', { cpu: '8' })];
    const picky = podsOf(8, 'p', { nodeSelector: { disk: 'ssd' } });
    expect(boundOf([...picky, ...podsOf(8, 'q')], { nodes })).toBe(0);
  });

  test('uses prices of the zone that pods require', () => {
    const types = [
      instanceType('a', { cpu: 8, price: 0.8, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 8, price: 1.6, spot: 0, zones: ['zone-b'] }),
    ];
    const own = podsOf(8, 'p', { nodeSelector: { [zone]: 'zone-b' } });
    expect(boundOf(own, {}, types)).toBeCloseTo(1.6, 6);
    expect(boundOf([...own, ...podsOf(8, 'q')], {}, types)).toBeCloseTo(2.4, 6);
  });

  test('includes the surcharge of each node, of whatever size', () => {
    expect(boundOf(podsOf(16, 'p'), {}, sizes, { surcharge: 0.1 })).toBeCloseTo(1.8, 6);
  });
});

// Rule `instance-types/commitments`: one hundredth of what is covered is paid all the same.
describe('the lower bound under commitments', () => {
  const onDemand = (name: string, price: number): InstanceType =>
    instanceType(name, { cpu: 4, offerings: [offering('zone-a', 'on-demand', price, { machinePrice: price })] });
  const [c5, m5] = [onDemand('c5.xlarge', 0.3), onDemand('m5.xlarge', 0.4)];
  const large = (count: number): Pod[] => podsOf(count, 'p', { cpu: '4' });
  const everything = { kind: 'ComputeSavingsPlan', name: 'all', perHour: 0.3, discount: 0 };
  const ofM5 = { kind: 'EC2InstanceSavingsPlan', name: 'm5', instanceFamily: 'm5', perHour: 0.4, discount: 0.5 };

  test('is the full price less the most that the remaining commitments save', () => {
    expect(boundOf(large(4), {}, [c5], { commitments: [everything] })).toBeCloseTo(4 * 0.3 - 0.297, 6);
    const partly = { ...everything, usedElsewhere: 0.2 };
    expect(boundOf(large(4), {}, [c5], { commitments: [partly] })).toBeCloseTo(4 * 0.3 - 0.099, 6);
  });

  test('is never below the price where commitments cover everything', () => {
    expect(boundOf(large(2), {}, [c5], { commitments: [{ ...everything, perHour: 9 }] })).toBeCloseTo(2 * 0.003, 6);
  });

  test('counts for a commitment the instance on which it saves most per dollar', () => {
    const commitments = [{ ...everything, familyDiscounts: { m5: 0.5 } }];
    for (const types of [
      [c5, m5],
      [m5, c5],
    ])
      expect(boundOf(large(9), {}, types, { commitments })).toBeCloseTo(9 * 0.3 - 1.98 * 0.3, 6);
  });

  test('adds up the savings of several commitments', () => {
    const bound = boundOf(large(9), {}, [c5, m5], { commitments: [everything, ofM5] });
    expect(bound).toBeCloseTo(9 * 0.3 - 0.99 * 0.3 - 1.98 * 0.4, 6);
  });

  test('counts no commitment of which no covered type is offered', () => {
    expect(boundOf(large(4), {}, [c5], { commitments: [ofM5] })).toBeCloseTo(4 * 0.3, 6);
  });
});

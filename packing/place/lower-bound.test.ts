import { describe, expect, test } from 'vitest';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { instanceType, node, packingInput, podsOf, type PodOptions } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { apart, near, spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import type { Pod } from '../../api/kubernetes.js';
import { lowerBoundOfPlaced } from './lower-bound.js';

const { hostname, zone } = labels;
const sizes = [4, 8].map((cpu) => instanceType(`m${cpu}`, { cpu, price: cpu / 10, spot: 0, zones: ['zone-a'] }));

/** The bound of all these pods, before any is placed. */
function boundOf(pods: readonly Pod[], objects: Partial<ClusterObjects> = {}, types: readonly InstanceType[] = sizes) {
  const { compiled, feasibility, book, nodes } = placingOf(packingInput({ ...objects, pods: [...pods] }, { types }));
  const free = nodes.map((each) => Float64Array.from(each.free));
  const placed = new Map(compiled.queue.map((podClass) => [podClass, podClass.pods.length]));
  return lowerBoundOfPlaced({ compiled, feasibility, book, nodes, free }, placed);
}
const web: PodOptions = { labels: { app: 'web' } };

describe('the lower bound', () => {
  test('is the price of what pods request, at the best rate', () => {
    expect(boundOf(podsOf(16, 'p'))).toBeCloseTo(1.6, 6);
    expect(boundOf([...podsOf(8, 'p'), ...podsOf(8, 'q', { labels: { app: 'q' } })])).toBeCloseTo(1.6, 6);
    expect(boundOf([])).toBe(0);
  });

  test('counts what classes of one demand need together', () => {
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
  ])('counts one node for each pod that %s keeps apart', (_, options) => {
    const own = podsOf(3, 'p', options);
    const types = [instanceType('m8', { cpu: 8, price: 0.8, spot: 0 })];
    const isApart = options.containers !== undefined || options.labels !== undefined;
    expect(boundOf(own, {}, types)).toBeCloseTo(isApart ? 2.4 : boundOf(podsOf(3, 'q'), {}, types), 6);
  });

  const unlike: PodOptions = { tolerations: [{ key: 'x' }] };
  const eight = [instanceType('m8', { cpu: 8, price: 0.8, spot: 0 })];

  test('counts classes of one demand as one, whatever they tolerate', () => {
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
  ])('counts pods that %s keeps apart beside others of their demand', (_, options) => {
    const own = podsOf(3, 'p', options);
    expect(boundOf([...own, ...podsOf(6, 'q')], {}, eight)).toBeCloseTo(2.4, 6);
    expect(boundOf([...podsOf(6, 'a'), ...own], {}, eight)).toBeCloseTo(2.4, 6);
  });

  test('affinity within a host keeps nobody apart', () => {
    const own = podsOf(16, 'p', { ...web, ...near('web', hostname) });
    expect(boundOf(own)).toBeCloseTo(1.6, 6);
  });

  test('is nothing where existing nodes have room', () => {
    const nodes = [node('a', { cpu: '4' }), node('b', { cpu: '4' })];
    expect(boundOf(podsOf(8, 'p'), { nodes })).toBe(0);
    expect(boundOf(podsOf(24, 'p'), { nodes })).toBeCloseTo(1.6, 6);
  });

  test('lets no node pay for pods that it does not admit', () => {
    const nodes = [node('a', { cpu: '64', taints: [{ key: 'own', effect: 'NoSchedule' }] })];
    expect(boundOf(podsOf(8, 'p'), { nodes })).toBeCloseTo(0.8, 6);
    const some = [...podsOf(8, 'p'), ...podsOf(8, 'q', { tolerations: [{ key: 'own' }] })];
    expect(boundOf(some, { nodes })).toBeCloseTo(0.8, 6);
  });

  test('counts those that some of many nodes admit where they can be', () => {
    const nodes = [node('a', { cpu: '8', labels: { disk: 'ssd' } }), node('b', { cpu: '8' })];
    const picky = podsOf(8, 'p', { nodeSelector: { disk: 'ssd' } });
    expect(boundOf([...picky, ...podsOf(8, 'q')], { nodes })).toBe(0);
  });

  test('is that of the zone that they ask for', () => {
    const types = [
      instanceType('a', { cpu: 8, price: 0.8, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 8, price: 1.6, spot: 0, zones: ['zone-b'] }),
    ];
    const own = podsOf(8, 'p', { nodeSelector: { [zone]: 'zone-b' } });
    expect(boundOf(own, {}, types)).toBeCloseTo(1.6, 6);
    expect(boundOf([...own, ...podsOf(8, 'q')], {}, types)).toBeCloseTo(2.4, 6);
  });
});

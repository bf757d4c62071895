import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod, pool, type PodOptions } from '../../test/builders/packing-fixtures.js';
import { placingOf, type Placing } from '../../test/builders/placing.js';
import { spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import type { Cell } from './cells.js';

const { zone, nodePool } = labels;
const spreadOver = (...keys: string[]): PodOptions => ({
  labels: { app: 'web' },
  topologySpreadConstraints: keys.flatMap((topologyKey) => spreads({ topologyKey }).topologySpreadConstraints ?? []),
});
const web = { matchLabels: { app: 'web' } };
const types = [instanceType('m4', { cpu: 4, spot: 0, price: 0.4, zones: ['zone-b', 'zone-a'] })];

/** Each cell by its domains: its NodePools, its nodes and its price. */
const described = (cells: readonly Cell[]) =>
  cells.map(({ domains, profiles, nodes, shareOfPrice }) => [
    [...domains.values()].join('/'),
    [...new Set(profiles.map(({ pool: { name } }) => name))].sort().join(),
    nodes.map(({ view }) => view.name).join(),
    shareOfPrice,
  ]);

function cellsOf(own: ReturnType<typeof pod>, objects: Partial<ClusterObjects> = {}) {
  const placing = placingOf(packingInput({ pods: [own], ...objects }, { types }));
  return { ...placing, of: (target = placing.targetOf(own)) => placing.cells.of(target) };
}

describe('cells: combinations of topology domains', () => {
  test('are the sorted domains of new nodes, with the price of a share there', () => {
    const { of } = cellsOf(pod('p', { ...spreadOver(zone), cpu: '2' }));
    expect(described(of())).toEqual([
      ['zone-a', 'default', '', 0.2],
      ['zone-b', 'default', '', 0.2],
    ]);
    expect(of().map(({ domainOf, next }) => [domainOf(zone), domainOf('rack'), next])).toEqual([
      ['zone-a', undefined, 0],
      ['zone-b', undefined, 0],
    ]);
  });

  test('are the combinations of the domains of several keys', () => {
    const { of } = cellsOf(pod('p', spreadOver(zone, nodePool)), { nodePools: [pool('one'), pool('two')] });
    expect(described(of()).map(([domains]) => domains)).toEqual([
      'one/zone-a',
      'one/zone-b',
      'two/zone-a',
      'two/zone-b',
    ]);
  });

  test('cells have the NodePools of the highest weight that offer anything there (scheduling/heaviest-pool-first)', () => {
    const heavy = pool('heavy', {
      weight: 10,
      requirements: [{ key: zone, operator: 'In', values: ['zone-b'] }],
    });
    const { of } = cellsOf(pod('p', spreadOver(zone)), { nodePools: [pool('light'), heavy] });
    expect(described(of()).map(([domains, pools]) => [domains, pools])).toEqual([
      ['zone-a', 'light'],
      ['zone-b', 'heavy'],
    ]);
  });

  test.each([
    [
      'are in the domains of the heaviest NodePool for pods that only the spread of others counts (scheduling/heaviest-pool-first)',
      {},
      ['zone-b heavy'],
    ],
    [
      'are in all domains for pods that others have to be near',
      { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zone, labelSelector: web }] } },
      ['zone-a light', 'zone-b heavy'],
    ],
  ])('%s', (_, affinity, expected) => {
    const heavy = pool('heavy', { weight: 10, requirements: [{ key: zone, operator: 'In', values: ['zone-b'] }] });
    const others = pod('other', { ...spreadOver(zone), labels: { app: 'other' }, affinity });
    const counting = {
      ...others.spec,
      topologySpreadConstraints: [{ ...others.spec.topologySpreadConstraints![0]!, labelSelector: web }],
    };
    const free = pod('free', { labels: web.matchLabels });
    const placing = placingOf(
      packingInput({ pods: [free, { ...others, spec: counting }], nodePools: [pool('light'), heavy] }, { types }),
    );
    expect(
      described(placing.cells.of(placing.targetOf(free))).map(([domains, pools]) => `${domains} ${pools}`),
    ).toEqual(expected);
  });

  test('cells have the existing nodes that admit the class, and exist for those alone too', () => {
    const nodes = [
      node('a1'),
      node('c', { zone: 'zone-c' }),
      node('a2'),
      node('0', { zone: 'zone-0' }),
      node('tainted', { taints: [{ key: 'own', effect: 'NoSchedule' }] }),
    ];
    const { of } = cellsOf(pod('p', { ...spreadOver(zone), cpu: '2' }), { nodes });
    expect(described(of())).toEqual([
      ['zone-0', '', '0', Infinity],
      ['zone-a', 'default', 'a1,a2', 0.2],
      ['zone-b', 'default', '', 0.2],
      ['zone-c', '', 'c', Infinity],
    ]);
  });

  test('cells leave out profiles without room', () => {
    const { of, targetOf, compiled } = cellsOf(pod('p', spreadOver(zone)));
    const [gone, left] = compiled.universe.profiles;
    const target = targetOf(compiled.queue[0]!.pods[0]!);
    expect(of({ ...target, excluded: new Set([gone!]) }).map(({ profiles }) => profiles)).toEqual([[left]]);
  });

  test('cells of domain pairs that read alike when joined are separate', () => {
    const racked = (row: string, rack: string) => node(`${row}-${rack}`, { labels: { row, rack } });
    const { of } = cellsOf(pod('p', spreadOver('row', 'rack')), { nodes: [racked('a', 'bc'), racked('ab', 'c')] });
    expect(of().flatMap(({ nodes }) => nodes.map(({ view }) => view.name))).toHaveLength(2);
    expect(of().filter(({ nodes }) => nodes.length === 1)).toHaveLength(2);
  });
});

describe('cells shared by classes', () => {
  const web = (name: string, cpu: string) => pod(name, { ...spreadOver(zone), cpu });
  const two = (nodes: ReturnType<typeof node>[]): Placing =>
    placingOf(
      packingInput(
        {
          pods: [
            web('p', '1'),
            web('q', '2'),
            { ...web('r', '1'), spec: { ...web('r', '1').spec, tolerations: [{ key: 'x' }] } },
          ],
          nodes,
        },
        { types },
      ),
    );
  const cellsFor = ({ compiled, targetOf, cells }: Placing, name: string) =>
    cells.of(targetOf(compiled.queue.flatMap(({ pods }) => pods).find(({ metadata }) => metadata.name === name)!));

  test('are shared by classes with equal requests where no existing node is, and by no others', () => {
    const placing = two([]);
    expect(cellsFor(placing, 'p')).toBe(cellsFor(placing, 'p'));
    expect(cellsFor(placing, 'q')).not.toBe(cellsFor(placing, 'p'));
    expect(cellsFor(placing, 'q').map(({ shareOfPrice }) => shareOfPrice)).toEqual([0.2, 0.2]);
    expect(cellsFor(placing, 'p').map(({ shareOfPrice }) => shareOfPrice)).toEqual([0.1, 0.1]);
  });

  test('are not shared where existing nodes are, since these fill up', () => {
    const placing = two([node('a')]);
    expect(cellsFor(placing, 'p')).not.toBe(cellsFor(placing, 'p'));
  });
});

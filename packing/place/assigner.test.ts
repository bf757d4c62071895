import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import {
  instanceType,
  node,
  packingInput,
  podsOf,
  pool,
  type PodOptions,
} from '../../test/builders/packing-fixtures.js';
import { placingOf, profileNames } from '../../test/builders/placing.js';
import { apart, near, spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import type { Part } from './part.js';

const { hostname, zone, capacityType } = labels;
const web: PodOptions = { labels: { app: 'web' } };
const four = (...zones: string[]) => [instanceType('m4', { cpu: 4, spot: 0, zones })];
const names = (pods: readonly Pod[]): string => pods.map(({ metadata }) => metadata.name).join();

/** Places pods class by class, in the order given. */
function placed(
  groups: readonly (readonly Pod[])[],
  objects: Partial<ClusterObjects> = {},
  types: readonly InstanceType[] = four('zone-a', 'zone-b'),
) {
  const placing = placingOf(packingInput({ ...objects, pods: groups.flat() }, { types }));
  const parts: Part[] = [];
  const rest = groups.flatMap((pods) => placing.assigner.place(placing.targetOf(pods[0]!), pods, parts));
  return {
    placing,
    parts,
    rest: names(rest),
    texts: parts.map(({ members, profiles }) => {
      const where = profileNames(profiles, placing, zone).join(' ');
      return `${where}: ${members.map(({ pods }) => names(pods)).join(' + ')}`;
    }),
    onNodes: Object.fromEntries(placing.nodes.map(({ view, pods }) => [view.name, names(pods)])),
  };
}

describe('assigning pods without topology rules', () => {
  test('fills existing nodes in order, and makes one part of the rest', () => {
    const nodes = [node('a', { cpu: '2' }), node('b', { cpu: '500m' }), node('c', { cpu: '1' })];
    const { onNodes, parts, rest } = placed([podsOf(5, 'p')], { nodes });
    expect(onNodes).toEqual({ a: 'p-0,p-1', b: '', c: 'p-2' });
    expect(rest).toBe('');
    expect(parts).toMatchObject([{ together: false, pinnedKeys: [], count: 2 }]);
    expect(names(parts[0]!.members[0]!.pods)).toBe('p-3,p-4');
    expect(parts[0]!.demand[0]).toBe(1000);
  });

  test('needs no new node where all fit', () => {
    const nodes = [node('a', { cpu: '2' }), node('b')];
    expect(placed([podsOf(2, 'p')], { nodes })).toMatchObject({
      parts: [],
      rest: '',
      onNodes: { a: 'p-0,p-1', b: '' },
    });
  });

  test('skips nodes that do not admit them', () => {
    const nodes = [node('a', { taints: [{ key: 'own', effect: 'NoSchedule' }] }), node('b', { cpu: '1' })];
    expect(placed([podsOf(2, 'p')], { nodes }).onNodes).toEqual({ a: '', b: 'p-0' });
  });

  test('leaves them unplaced where no node can be launched', () => {
    expect(placed([podsOf(2, 'p', { cpu: '9' })])).toMatchObject({ parts: [], rest: 'p-0,p-1' });
    const nodes = [node('a', { cpu: '1' })];
    expect(placed([podsOf(2, 'p')], { nodes }, [])).toMatchObject({ parts: [], rest: 'p-1', onNodes: { a: 'p-0' } });
  });

  test('takes the NodePool of the highest weight (scheduling/heaviest-pool-first)', () => {
    const nodePools = [pool('light'), pool('heavy', { weight: 2 })];
    const { parts, placing } = placed([podsOf(1, 'p')], { nodePools });
    expect(profileNames(parts[0]!.profiles, placing)).toEqual(['heavy']);
    expect(profileNames(parts[0]!.riding ?? [], placing).sort()).toEqual(['heavy', 'light']);
    const alone = placed([podsOf(1, 'p')], { nodePools: [pool('only')] });
    expect(alone.parts[0]).not.toHaveProperty('riding');
  });

  test('keeps lighter pools to the domain decided for the part (scheduling/heaviest-pool-first)', () => {
    const nodePools = [pool('light'), pool('heavy', { weight: 2 })];
    const own = podsOf(2, 'p', { ...web, ...spreads({ topologyKey: zone }) });
    const { parts, placing } = placed([own], { nodePools });
    expect(parts.map(({ riding }) => profileNames(riding!, placing, zone))).toEqual([
      ['heavy/zone-a', 'light/zone-a'],
      ['heavy/zone-b', 'light/zone-b'],
    ]);
  });

  test('puts as many on a node as their host name rules allow', () => {
    const nodes = [node('a'), node('b')];
    const own = podsOf(5, 'p', { ...web, ...spreads({ topologyKey: hostname, maxSkew: 2 }) });
    const { onNodes, parts } = placed([own], { nodes });
    expect(onNodes).toEqual({ a: 'p-0,p-1', b: 'p-2,p-3' });
    expect(parts).toMatchObject([{ count: 1 }]);
  });

  test('counts volumes one pod after the other', () => {
    const using = podsOf(3, 'p').map((each, i) => ({
      ...each,
      spec: { ...each.spec, volumes: [{ name: 'v', persistentVolumeClaim: { claimName: `c${i}` } }] },
    }));
    const { onNodes } = placed([using], {
      nodes: [node('a')],
      csiNodes: [
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'CSINode',
          metadata: { name: 'a' },
          spec: { drivers: [{ name: 'csi', nodeID: 'a', allocatable: { count: 2 } }] },
        },
      ],
      storageClasses: [
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'StorageClass',
          metadata: { name: 's' },
          provisioner: 'csi',
          volumeBindingMode: 'WaitForFirstConsumer',
        },
      ],
      persistentVolumeClaims: [0, 1, 2].map((i) => ({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: `c${i}`, namespace: 'default' },
        spec: { storageClassName: 's' },
      })),
    });
    expect(onNodes).toEqual({ a: 'p-0,p-1' });
  });

  test('tries nodes in the given order', () => {
    const own = podsOf(1, 'p');
    const { assigner, targetOf, nodes } = placingOf(packingInput({ pods: own, nodes: [node('a'), node('b')] }));
    assigner.ordering = (given) => [...given].reverse();
    assigner.place(targetOf(own[0]!), own, []);
    expect(nodes.map(({ pods }) => pods.length)).toEqual([0, 1]);
  });
});

describe('assigning pods with spread (topology/spread)', () => {
  const spread = (more: PodOptions = {}): PodOptions => ({ ...web, ...spreads(), ...more });

  test('takes the domain with the fewest pods, the first by name among equals', () => {
    const { texts, rest, parts } = placed([podsOf(5, 'p', spread())]);
    expect(texts).toEqual(['default/zone-a: p-0,p-2,p-4', 'default/zone-b: p-1,p-3']);
    expect(parts.map(({ pinnedKeys, count }) => [pinnedKeys, count])).toEqual([
      [[zone], 3],
      [[zone], 2],
    ]);
    expect(rest).toBe('');
  });

  test('takes domains with existing nodes before new ones, while the skew allows', () => {
    const nodes = [node('b', { zone: 'zone-b', cpu: '2' })];
    const { onNodes, texts } = placed([podsOf(5, 'p', spread())], { nodes });
    expect(onNodes).toEqual({ b: 'p-0,p-2' });
    expect(texts).toEqual(['default/zone-a: p-1,p-3,p-4']);
  });

  test('takes among equal domains the one with fewest of these pods', () => {
    const { texts } = placed([podsOf(4, 'p', spread(spreads({ maxSkew: 5 })))]);
    expect(texts).toEqual(['default/zone-a: p-0,p-2', 'default/zone-b: p-1,p-3']);
  });

  test('fills existing nodes in order before any new one', () => {
    const nodes = [
      node('a', { zone: 'zone-c', cpu: '100m' }),
      node('b', { zone: 'zone-b', cpu: '1' }),
      node('c', { cpu: '1' }),
    ];
    const own = podsOf(3, 'p', spread(spreads({ maxSkew: 5 })));
    const { onNodes, texts } = placed([own], { nodes });
    expect(onNodes).toEqual({ a: '', b: 'p-0', c: 'p-1' });
    expect(texts).toEqual(['default/zone-a: p-2']);
  });

  test('takes the cheaper domain first', () => {
    const types = [
      instanceType('a', { cpu: 4, price: 0.4, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 4, price: 0.3, spot: 0, zones: ['zone-b'] }),
    ];
    expect(placed([podsOf(3, 'p', spread())], {}, types).texts).toEqual([
      'default/zone-a: p-1',
      'default/zone-b: p-0,p-2',
    ]);
  });

  test('leaves them unplaced where the emptiest domain takes none', () => {
    const nodes = [node('c', { zone: 'zone-c', cpu: '100m' })];
    const { rest, texts } = placed([podsOf(4, 'p', spread())], { nodes });
    expect(texts).toEqual(['default/zone-a: p-0', 'default/zone-b: p-1']);
    expect(rest).toBe('p-2,p-3');
  });

  test('leaves them unplaced where there is no domain', () => {
    const own = podsOf(2, 'p', spread({ cpu: '9' }));
    expect(placed([own])).toMatchObject({ texts: [], rest: 'p-0,p-1' });
  });

  test('fills the first node of a domain, then the next', () => {
    const nodes = [node('a1', { cpu: '1' }), node('a2', { cpu: '1' })];
    const { onNodes } = placed([podsOf(3, 'p', spread({ ...spreads({ maxSkew: 9 }) }))], { nodes }, []);
    expect(onNodes).toEqual({ a1: 'p-0', a2: 'p-1' });
  });

  test('skips nodes that host name rules exclude', () => {
    const affinity = apart('web', hostname);
    const nodes = [node('a1'), node('a2')];
    const { onNodes } = placed([podsOf(2, 'p', spread({ ...spreads({ maxSkew: 9 }), ...affinity }))], { nodes }, []);
    expect(onNodes).toEqual({ a1: 'p-0', a2: 'p-1' });
  });

  test('with several keys looks one pod ahead', () => {
    const offerings = [
      ['zone-a', 'spot', 0.1],
      ['zone-a', 'on-demand', 0.4],
      ['zone-b', 'spot', 0.2],
    ] as const;
    const types = [
      instanceType('m4', {
        cpu: 4,
        zones: ['zone-a', 'zone-b'],
        offerings: offerings.map(([of, kind, price]) => ({
          requirements: [
            { key: zone, operator: 'In', values: [of] },
            { key: capacityType, operator: 'In', values: [kind] },
          ],
          price,
          available: true,
        })),
      }),
    ];
    const topologySpreadConstraints = [spreads(), spreads({ topologyKey: capacityType })].flatMap(
      (each) => each.topologySpreadConstraints ?? [],
    );
    const { rest, parts } = placed([podsOf(2, 'p', { ...web, topologySpreadConstraints })], {}, types);
    // After zone-a on spot the next would have to be in zone-b on demand, which nobody sells.
    expect(rest).toBe('');
    expect(parts).toHaveLength(2);
    const full = node('full', { zone: 'zone-b', cpu: '100m', labels: { [capacityType]: 'on-demand' } });
    const beside = placed([podsOf(2, 'p', { ...web, topologySpreadConstraints })], { nodes: [full] }, types);
    expect([beside.rest, beside.parts.length]).toEqual(['', 2]);
    const lone = placed([podsOf(1, 'p', { ...web, topologySpreadConstraints })], {}, types);
    expect(
      lone.placing.topologyCounts.count(
        lone.placing.targetOf(lone.parts[0]!.members[0]!.pods[0]!).rules.spread[1]!,
        'spot',
      ),
    ).toBe(1);
  });
});

describe("assigning pods that other pods' rules select", () => {
  test('takes the domain that worsens their spread least', () => {
    const plain = podsOf(3, 'p', web);
    const waiting = podsOf(1, 'q', { ...web, ...spreads() });
    const types = [
      instanceType('a', { cpu: 4, price: 0.1, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 4, price: 0.9, spot: 0, zones: ['zone-b'] }),
    ];
    expect(placed([plain, waiting], {}, types).texts).toEqual([
      'default/zone-a: p-0,p-2',
      'default/zone-b: p-1',
      'default/zone-b: q-0',
    ]);
  });

  const dearer = [
    instanceType('a', { cpu: 8, price: 0.1, spot: 0, zones: ['zone-a'] }),
    instanceType('b', { cpu: 8, price: 0.9, spot: 0, zones: ['zone-b'] }),
  ];

  test('counts only what exceeds the maximum skew', () => {
    const waiting = podsOf(1, 'q', { ...web, ...spreads({ maxSkew: 2 }) });
    const [inA, inB] = placed([podsOf(5, 'p', web), waiting], {}, dearer).texts;
    expect([inA, inB]).toEqual(['default/zone-a: p-0,p-1,p-3', 'default/zone-b: p-2,p-4']);
  });

  test('counts no rules but required spreads', () => {
    const fond = podsOf(1, 'fond', near('web'));
    const soft = podsOf(1, 'soft', { ...web, ...spreads({ whenUnsatisfiable: 'ScheduleAnyway' }) });
    expect(placed([podsOf(3, 'p', web), fond, soft], {}, dearer).texts[0]).toBe('default/zone-a: p-0,p-1,p-2');
  });

  test('ignores spreads that are only preferred', () => {
    const plain = podsOf(3, 'p', web);
    const waiting = podsOf(1, 'q', { ...web, ...spreads({ whenUnsatisfiable: 'ScheduleAnyway' }) });
    expect(placed([plain, waiting]).texts[0]).toBe('default/zone-a default/zone-b: p-0,p-1,p-2');
  });

  test('avoids domains of pods with anti-affinity to them', () => {
    const shy = podsOf(1, 'shy', apart('web'));
    const { texts } = placed([shy, podsOf(2, 'p', web)]);
    expect(texts).toEqual(['default/zone-a: shy-0', 'default/zone-b: p-0,p-1']);
  });
});

describe('assigning pods with affinity', () => {
  test('begins in the best domain for all of them', () => {
    const types = [
      instanceType('huge', { cpu: 16, price: 1, spot: 0, zones: ['zone-a'] }),
      instanceType('large', { cpu: 8, price: 0.55, spot: 0, zones: ['zone-b'] }),
    ];
    const own = podsOf(6, 'p', { ...web, ...near('web') });
    expect(placed([own], {}, types).texts).toEqual(['default/zone-b: p-0,p-1,p-2,p-3,p-4,p-5']);
  });

  test('follows the pods that they select', () => {
    const { texts } = placed([
      podsOf(1, 'web', { ...web, nodeSelector: { [zone]: 'zone-b' } }),
      podsOf(2, 'fond', near('web')),
    ]);
    expect(texts).toEqual(['default/zone-b: web-0', 'default/zone-b: fond-0,fond-1']);
  });

  test('leaves them unplaced where no selected pod is', () => {
    expect(placed([podsOf(1, 'fond', near('web'))]).rest).toBe('fond-0');
  });

  test('puts those with affinity by host name into one bundle', () => {
    const { parts } = placed([podsOf(2, 'p', { ...web, ...near('web', hostname) })]);
    expect(parts).toMatchObject([{ together: true, count: 1 }]);
  });
});

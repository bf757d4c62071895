import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import {
  instanceType,
  node,
  packingInput,
  pod,
  podsOf,
  pool,
  type PodOptions,
} from '../../test/builders/packing-fixtures.js';
import { placingOf, profileNames } from '../../test/builders/placing.js';
import { apart, near, spreads } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import type { Part } from './part.js';

const { hostname, zone } = labels;
const beside = (app: string, more: PodOptions = {}): PodOptions => ({ ...near(app, hostname), ...more });
const web: PodOptions = { labels: { app: 'web' } };
const seeding = (more: PodOptions = {}): PodOptions => ({ ...web, ...beside('web'), ...more });
const terms = (app: string) => beside(app).affinity!.podAffinity!.requiredDuringSchedulingIgnoredDuringExecution![0]!;
const eight = [instanceType('m8', { cpu: 8, spot: 0, zones: ['zone-a', 'zone-b'] })];

/** Places pods class by class, in the order given. */
function placed(
  groups: readonly (readonly Pod[])[],
  objects: Partial<ClusterObjects> = {},
  types: readonly InstanceType[] = eight,
) {
  const { pods: running = [], ...others } = objects;
  const placing = placingOf(packingInput({ ...others, pods: [...groups.flat(), ...running] }, { types }));
  const parts: Part[] = [];
  for (const each of running) {
    const state = placing.nodes.find(({ view }) => view.name === each.spec.nodeName)!;
    for (const { rules } of groups.map(([first]) => placing.targetOf(first!))) {
      for (const group of rules.hostAffinity) placing.topologyCounts.addSelected(group, state.host, 1);
    }
  }
  const rest = groups.flatMap((pods) => placing.assigner.place(placing.targetOf(pods[0]!), pods, parts));
  const names = (pods: readonly Pod[]): string => pods.map(({ metadata }) => metadata.name).join();
  return {
    placing,
    parts,
    rest: names(rest),
    texts: parts.map(
      ({ members, count, together }) =>
        `${together ? 'bundle' : count} ${members.map(({ pods }) => names(pods)).join(' + ')}`,
    ),
    onNodes: Object.fromEntries(placing.nodes.map(({ view, pods }) => [view.name, names(pods)])),
    counted: (of: Pod, at: string) => placing.topologyCounts.count(placing.targetOf(of).rules.spread[0]!, at),
    profiles: (part: Part) => profileNames(part.profiles, placing, zone),
  };
}

describe('pods with affinity by host name to other pods', () => {
  const running = (name: string, nodeName: string): Pod => pod(name, { ...web, nodeName });

  test('go to existing nodes with those, while there is room', () => {
    const fond = podsOf(3, 'fond', beside('web'));
    const nodes = [node('empty'), node('a', { cpu: '2' }), node('b', { cpu: '1' })];
    const pods = [running('w', 'a'), running('v', 'b')].map((each) => ({
      ...each,
      spec: { ...each.spec, containers: [] },
    }));
    const { onNodes, rest } = placed([fond], { nodes, pods });
    expect(onNodes).toEqual({ empty: '', a: 'fond-0,fond-1', b: 'fond-2' });
    expect(rest).toBe('');
  });

  test.each([
    ['taints', { taints: [{ key: 'own', effect: 'NoSchedule' as const }] }, {}],
    ['labels', {}, { nodeSelector: { disk: 'ssd' } }],
  ])('go to no node where %s keep them off', (_, nodeOptions, podOptions) => {
    const fond = podsOf(1, 'fond', beside('web', podOptions));
    const { onNodes, rest } = placed([fond], { nodes: [node('a', nodeOptions)], pods: [running('w', 'a')] });
    expect([onNodes, rest]).toEqual([{ a: '' }, 'fond-0']);
  });

  test('go to no node where other topology rules keep them off', () => {
    const apartToo = {
      ...beside('web').affinity,
      ...apart('fond', hostname).affinity,
    };
    const fond = podsOf(2, 'fond', { labels: { app: 'fond' }, affinity: apartToo });
    const first = placed([fond], { nodes: [node('a')], pods: [running('w', 'a')] });
    expect([first.onNodes, first.rest]).toEqual([{ a: 'fond-0' }, 'fond-1']);
    const spread = podsOf(2, 'fond', { labels: { app: 'web' }, ...beside('web'), ...spreads() });
    const second = placed([spread], { nodes: [node('a')], pods: [running('w', 'a')] });
    expect([second.onNodes, second.rest]).toEqual([{ a: 'fond-0' }, 'fond-1']);
  });

  test('are distributed over the new nodes of those', () => {
    const { texts, rest, parts } = placed([podsOf(3, 'web', web), podsOf(5, 'fond', beside('web'))]);
    expect([...texts].sort()).toEqual([
      'bundle web-0 + fond-0,fond-1',
      'bundle web-1 + fond-2,fond-3',
      'bundle web-2 + fond-4',
    ]);
    expect(rest).toBe('');
    expect(parts.map(({ demand }) => demand[0]! / 1000).sort()).toEqual([2, 3, 3]);
    expect(parts.every(({ count }) => count === 1)).toBe(true);
  });

  test('leave new nodes that they do not need unchanged', () => {
    const { texts } = placed([podsOf(3, 'web', web), podsOf(1, 'fond', beside('web'))]);
    expect(texts).toEqual(['2 web-1,web-2', 'bundle web-0 + fond-0']);
  });

  test('join a node up to its room', () => {
    const { texts, rest } = placed([podsOf(1, 'web', web), podsOf(9, 'fond', beside('web'))]);
    expect(texts).toEqual(['bundle web-0 + fond-0,fond-1,fond-2,fond-3,fond-4,fond-5,fond-6']);
    expect(rest).toBe('fond-7,fond-8');
  });

  test('join a new node only where profiles of both remain', () => {
    const { parts, profiles, rest } = placed([
      podsOf(1, 'web', { ...web, nodeSelector: { [zone]: 'zone-b' } }),
      podsOf(1, 'fond', beside('web')),
    ]);
    expect([parts.map(profiles), rest]).toEqual([[['default/zone-b']], '']);
    const elsewhere = placed([
      podsOf(1, 'web', { ...web, nodeSelector: { [zone]: 'zone-b' } }),
      podsOf(1, 'fond', beside('web', { nodeSelector: { [zone]: 'zone-a' } })),
    ]);
    expect([elsewhere.texts, elsewhere.rest]).toEqual([['1 web-0'], 'fond-0']);
  });

  test('stay unplaced where no selected pod is', () => {
    expect(placed([podsOf(1, 'fond', beside('web'))])).toMatchObject({ texts: [], rest: 'fond-0' });
  });

  test('of several classes join one bundle', () => {
    const { texts, rest } = placed([
      podsOf(1, 'web', web),
      podsOf(1, 'fond', beside('web')),
      podsOf(1, 'more', beside('web', { cpu: '2' })),
    ]);
    expect([texts, rest]).toEqual([['bundle web-0 + fond-0 + more-0'], '']);
  });

  test('with several terms join only where pods of each term are', () => {
    const { podAffinity } = beside('web').affinity!;
    const both = podsOf(1, 'both', {
      affinity: {
        podAffinity: {
          ...podAffinity,
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: terms('db') }],
        },
      },
    });
    const webs = podsOf(1, 'web', web);
    const one = podsOf(1, 'one', { labels: { app: 'db' } });
    expect(placed([webs, one, both])).toMatchObject({ texts: ['1 web-0', '1 one-0'], rest: 'both-0' });
    const own = podsOf(1, 'own', { ...web, affinity: both[0]!.spec.affinity! });
    expect(placed([own])).toMatchObject({ texts: [], rest: 'own-0' });
    const { topologyCounts, assigner, targetOf, nodes } = placed([both], { nodes: [node('a'), node('b')] }).placing;
    const target = targetOf(both[0]!);
    topologyCounts.addSelected(target.rules.hostAffinity[0]!, 'a', 1);
    for (const group of target.rules.hostAffinity) topologyCounts.addSelected(group, 'b', 1);
    expect(assigner.place(target, both, [])).toEqual([]);
    expect(nodes.map(({ pods }) => pods.length)).toEqual([0, 1]);
  });

  test('join a part whose keys are then decided for both', () => {
    const { capacityType } = labels;
    const { parts } = placed([
      podsOf(1, 'web', { ...web, ...spreads() }),
      podsOf(1, 'fond', {
        labels: { app: 'fond' },
        ...beside('web'),
        ...spreads({ topologyKey: capacityType, labelSelector: { matchLabels: { app: 'fond' } } }),
      }),
    ]);
    expect(parts.map(({ pinnedKeys }) => pinnedKeys)).toEqual([[capacityType, zone]]);
  });

  test('join within the cell decided for both', () => {
    const types = [
      instanceType('a', { cpu: 8, price: 0.1, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 8, price: 0.8, spot: 0, zones: ['zone-b'] }),
    ];
    const { parts, profiles } = placed(
      [
        podsOf(1, 'web', { ...web, nodeSelector: { [zone]: 'zone-b' } }),
        podsOf(1, 'fond', { labels: { app: 'fond' }, ...beside('web'), ...spreads({ maxSkew: 5 }) }),
      ],
      {},
      types,
    );
    expect(parts.map(profiles)).toEqual([['default/zone-b']]);
    expect(parts[0]!.members).toHaveLength(2);
  });

  test('join bundles of other pods', () => {
    const both = podsOf(1, 'both', {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: ['web', 'db'].map((app) => ({
            topologyKey: hostname,
            labelSelector: { matchLabels: { [app]: 'yes' } },
          })),
        },
      },
    });
    const one = podsOf(1, 'one', { labels: { web: 'yes', db: 'yes' } });
    const half = podsOf(1, 'half', { labels: { web: 'yes' } });
    expect(placed([half, one, both]).texts).toEqual(['1 half-0', 'bundle one-0 + both-0']);
  });
});

describe('how many pods with affinity fit on a new node of others', () => {
  test.each<[string, PodOptions, PodOptions, string[], string]>([
    [
      'one for host ports',
      web,
      { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] },
      ['bundle web-0 + fond-0'],
      'fond-1',
    ],
    [
      'none where the ports are taken',
      { ...web, containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] },
      { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] },
      ['1 web-0'],
      'fond-0,fond-1',
    ],
    [
      'one for anti-affinity to their like',
      web,
      { labels: { app: 'fond' }, affinity: { ...near('web', hostname).affinity, ...apart('fond', hostname).affinity } },
      ['bundle web-0 + fond-0'],
      'fond-1',
    ],
    [
      'all whatever they shun elsewhere',
      web,
      { affinity: { ...near('web', hostname).affinity, ...apart('db', hostname).affinity } },
      ['bundle web-0 + fond-0,fond-1'],
      '',
    ],
    [
      'none where those shun them',
      { ...web, ...apart('fond', hostname) },
      { labels: { app: 'fond' } },
      ['1 web-0'],
      'fond-0,fond-1',
    ],
    [
      'none where they shun those',
      { labels: { app: 'web', tier: 'front' } },
      {
        affinity: {
          ...near('web', hostname).affinity,
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: hostname, labelSelector: { matchLabels: { tier: 'front' } } },
            ],
          },
        },
      },
      ['1 web-0'],
      'fond-0,fond-1',
    ],
    [
      'as many as their spread allows',
      web,
      {
        labels: { app: 'fond' },
        ...spreads({ topologyKey: hostname, labelSelector: { matchLabels: { app: 'fond' } } }),
      },
      ['bundle web-0 + fond-0'],
      'fond-1',
    ],
    [
      'as many as their spread allows with those that are there',
      web,
      { labels: { app: 'web' }, ...spreads({ topologyKey: hostname, maxSkew: 2 }) },
      ['bundle web-0 + fond-0'],
      'fond-1',
    ],
    [
      'none where their spread of others is broken',
      web,
      { labels: { app: 'fond' }, ...spreads({ topologyKey: hostname, maxSkew: 1 }) },
      ['bundle web-0 + fond-0,fond-1'],
      '',
    ],
  ])('%s', (_, webOptions, fondOptions, texts, rest) => {
    const fond = podsOf(2, 'fond', { ...near('web', hostname), ...fondOptions });
    const result = placed([podsOf(1, 'web', webOptions), fond]);
    expect([result.texts, result.rest]).toEqual([texts, rest]);
  });

  test('none where a spread is full there', () => {
    const topologySpreadConstraints = spreads({ topologyKey: hostname }).topologySpreadConstraints!;
    const seeds = podsOf(2, 'web', seeding());
    const late = podsOf(1, 'late', { ...near('web', hostname), topologySpreadConstraints });
    const result = placed([seeds, late]);
    expect([result.texts, result.rest]).toEqual([['bundle web-0,web-1'], 'late-0']);
  });
});

describe('pods with affinity by host name to their like', () => {
  test('begin on a new node, as many as it holds', () => {
    const result = placed([podsOf(9, 'p', seeding())]);
    expect(result.texts).toEqual(['bundle p-0,p-1,p-2,p-3,p-4,p-5,p-6,p-7']);
    expect(result.rest).toBe('p-8');
    expect(result.parts[0]!.pinnedKeys).toEqual([]);
  });

  test('begin in one domain that their other rules allow', () => {
    const zonal = spreads({ maxSkew: 5 });
    const result = placed([podsOf(3, 'p', seeding(zonal))]);
    expect(result.texts).toEqual(['bundle p-0,p-1,p-2']);
    expect(result.parts[0]!.pinnedKeys).toEqual([zone]);
    expect(result.parts.map(result.profiles)).toEqual([['default/zone-a']]);
    const [first] = result.parts[0]!.members[0]!.pods;
    expect([result.counted(first!, 'zone-a'), result.counted(first!, 'zone-b')]).toEqual([3, 0]);
  });

  test('begin with no more pods than a spread over zones allows', () => {
    const result = placed([podsOf(3, 'p', seeding(spreads({ maxSkew: 2 })))]);
    expect([result.texts, result.rest]).toEqual([['bundle p-0,p-1'], 'p-2']);
  });

  test('begin in the zone with cheaper nodes', () => {
    const types = [
      instanceType('a', { cpu: 8, price: 0.9, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 8, price: 0.8, spot: 0, zones: ['zone-b'] }),
    ];
    const result = placed([podsOf(3, 'p', seeding(spreads({ maxSkew: 5 })))], {}, types);
    expect(result.parts.map(result.profiles)).toEqual([['default/zone-b']]);
  });

  test('begin on an existing node that holds them all', () => {
    const nodes = [node('a-small', { cpu: '2' }), node('b-large', { cpu: '4' })];
    expect(placed([podsOf(3, 'p', seeding())], { nodes })).toMatchObject({
      texts: [],
      onNodes: { 'a-small': '', 'b-large': 'p-0,p-1,p-2' },
    });
    expect(placed([podsOf(2, 'p', seeding())], { nodes }).onNodes).toEqual({ 'a-small': 'p-0,p-1', 'b-large': '' });
  });

  test('begin on a new node rather than on an existing one that does not hold all', () => {
    const nodes = [node('a', { cpu: '3' })];
    const own = podsOf(2, 'p', seeding());
    const more = podsOf(4, 'q', { ...seeding(), cpu: '500m' });
    const result = placed([own, more], { nodes });
    expect(result.onNodes).toEqual({ a: '' });
    expect(result.texts).toEqual(['bundle p-0,p-1 + q-0,q-1,q-2,q-3']);
  });

  test('begin on an existing node whatever pods without the affinity fit there', () => {
    const nodes = [node('a', { cpu: '3' })];
    const result = placed([podsOf(2, 'p', seeding()), podsOf(4, 'q', { cpu: '500m' })], { nodes });
    expect(result.onNodes).toEqual({ a: 'p-0,p-1,q-0,q-1' });
    expect(result.rest).toBe('');
  });

  describe('with a host port that a pod of an existing node has', () => {
    const port = { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] };
    const taken = (types: readonly InstanceType[], ...nodes: ReturnType<typeof node>[]) => {
      const own = podsOf(1, 'p', seeding(port));
      const running = pod('r', { ...port, nodeName: 'a' });
      const placing = placingOf(packingInput({ pods: [...own, running], nodes }, { types }));
      const parts: Part[] = [];
      const rest = placing.assigner.place(placing.targetOf(own[0]!), own, parts);
      return { parts, rest, onNodes: placing.nodes.map(({ pods }) => pods.length) };
    };

    test('begin on a new one', () => {
      expect(taken(eight, node('a'))).toMatchObject({ parts: [{ count: 1 }], rest: [], onNodes: [0] });
    });

    test('begin on another if there is no new one', () => {
      expect(taken([], node('a'), node('b'))).toMatchObject({ parts: [], rest: [], onNodes: [0, 1] });
    });
  });

  describe('where some NodePools have only small nodes', () => {
    const only = (name: string, ...values: string[]) =>
      pool(name, { requirements: [{ key: labels.instanceType, operator: 'In', values }] });
    const nodePools = [only('a', 'm2'), only('b', 'm8')];
    const types = [instanceType('m2', { cpu: 2, spot: 0 }), instanceType('m8', { cpu: 8, spot: 0 })];

    test('begin in NodePools with room for all', () => {
      const { parts, placing } = placed([podsOf(4, 'p', seeding())], { nodePools }, types);
      expect(parts.map(({ profiles }) => profileNames(profiles, placing))).toEqual([['b']]);
    });

    test('begin on a new one before an existing one that holds less', () => {
      const nodes = [node('n', { cpu: '3' })];
      const result = placed(
        [podsOf(2, 'p', seeding()), podsOf(4, 'q', seeding({ cpu: '900m' }))],
        { nodePools, nodes },
        types,
      );
      expect(result.onNodes).toEqual({ n: '' });
    });
  });

  test('begin in a cell that their other rules allow, though another is cheaper', () => {
    const types = [
      instanceType('a', { cpu: 8, price: 0.1, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 8, price: 0.8, spot: 0, zones: ['zone-b'] }),
    ];
    const tier = { labelSelector: { matchLabels: { tier: 'x' } } };
    const { parts, profiles, rest } = placed(
      [
        podsOf(1, 't', { labels: { tier: 'x' }, nodeSelector: { [zone]: 'zone-a' } }),
        podsOf(1, 'p', { labels: { app: 'web', tier: 'x' }, ...beside('web'), ...spreads(tier) }),
      ],
      {},
      types,
    );
    expect([parts.map(profiles), rest]).toEqual([[['default/zone-a'], ['default/zone-b']], '']);
  });

  test('begin on an existing node that holds part of the class where nothing holds all', () => {
    const nodes = [node('a', { cpu: '3' })];
    const result = placed([podsOf(3, 'p', seeding()), podsOf(9, 'q', { ...seeding(), cpu: '900m' })], { nodes });
    expect(result.onNodes).toEqual({ a: 'p-0,p-1,p-2' });
  });

  test('begin on the existing node with room for most where there is no new node', () => {
    const nodes = [node('a', { cpu: '1' }), node('b', { cpu: '2' }), node('c', { cpu: '2' })];
    const result = placed([podsOf(3, 'p', seeding())], { nodes }, []);
    expect(result.onNodes).toEqual({ a: '', b: 'p-0,p-1', c: '' });
    expect(result.rest).toBe('p-2');
  });

  test('begin only where they are admitted', () => {
    const nodes = [node('a', { taints: [{ key: 'own', effect: 'NoSchedule' }] }), node('b', { cpu: '2' })];
    expect(placed([podsOf(2, 'p', seeding())], { nodes }).onNodes).toEqual({ a: '', b: 'p-0,p-1' });
    expect(placed([podsOf(2, 'p', seeding({ nodeSelector: { disk: 'ssd' } }))], { nodes }, [])).toMatchObject({
      rest: 'p-0,p-1',
    });
  });

  test('get one node each where they also have anti-affinity by host name', () => {
    const affinity = { ...near('web', hostname).affinity, ...apart('web', hostname).affinity };
    expect(placed([podsOf(2, 'p', { ...web, affinity })])).toMatchObject({ texts: ['bundle p-0'], rest: 'p-1' });
  });

  test('do not begin a second time', () => {
    const result = placed([podsOf(7, 'p', seeding()), podsOf(1, 'q', seeding({ cpu: '2' }))]);
    expect([result.texts, result.rest]).toEqual([['bundle p-0,p-1,p-2,p-3,p-4,p-5,p-6'], 'q-0']);
    const later = placed([
      podsOf(1, 'p', seeding()),
      podsOf(1, 'fond', beside('web')),
      podsOf(1, 'q', seeding({ cpu: '7' })),
    ]);
    expect([later.texts, later.rest]).toEqual([['bundle p-0 + fond-0'], 'q-0']);
  });

  test('are on nodes of the heaviest NodePool that holds them (scheduling/heaviest-pool-first)', () => {
    const nodePools = [pool('light'), pool('heavy', { weight: 5 })];
    const { parts, profiles } = placed([podsOf(2, 'p', seeding())], { nodePools });
    expect(parts.map(profiles)).toEqual([['heavy/zone-a']]);
  });
});

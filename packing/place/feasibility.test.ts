import { describe, expect, test } from '@jest/globals';
import type { DaemonSet, Taint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { placingOf, profileNames } from '../../test/builders/placing.js';

const { zone, capacityType, instanceType: typeKey } = labels;
const types = [instanceType('m4', { cpu: 4, spot: 0, zones: ['zone-a', 'zone-b'] })];
const taint: Taint = { key: 'own', effect: 'NoSchedule' };
const anywhere = pod('anywhere', { nodeSelector: { [zone]: 'zone-a' } });

/** A term of node affinity for each zone. */
const terms = (...zones: string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: zones.map((each) => ({
          matchExpressions: [{ key: zone, operator: 'In' as const, values: [each] }],
        })),
      },
    },
  },
});

describe('profiles (NodePool and offering) that admit a pod', () => {
  test.each([
    ['any', {}, ['default/zone-a', 'default/zone-b', 'other/zone-a', 'other/zone-b']],
    ['one zone', { nodeSelector: { [zone]: 'zone-b' } }, ['default/zone-b', 'other/zone-b']],
    ['one NodePool', { nodeSelector: { [labels.nodePool]: 'other' } }, ['other/zone-a', 'other/zone-b']],
    ['no zone', { nodeSelector: { [zone]: 'zone-x' } }, []],
    [
      'a tolerated taint',
      { nodeSelector: { [zone]: 'zone-a' }, tolerations: [{ key: 'own' }] },
      ['default/zone-a', 'other/zone-a', 'tainted/zone-a'],
    ],
  ])('%s', (_, options, expected) => {
    const own = pod('own', options);
    const nodePools = [pool(), pool('other'), pool('tainted', { taints: [taint] })];
    const placing = placingOf(packingInput({ pods: [own, anywhere], nodePools }, { types }));
    const { podClass, level } = placing.targetOf(own);
    const profiles = placing.feasibility.profiles(podClass.shape, level);
    expect(profileNames(profiles, placing, zone)).toEqual(expected);
    expect(placing.feasibility.profiles(podClass.shape, level)).toBe(profiles);
  });

  test('are one list for pods that do not differ in requirements, taints or ports', () => {
    const [own, other] = [
      pod('own', { labels: { app: 'a' } }),
      pod('other', { labels: { app: 'b' }, hostNetwork: true }),
    ];
    const third = pod('third', { nodeSelector: { [zone]: 'zone-a' } });
    const placing = placingOf(packingInput({ pods: [own, other, third] }, { types }));
    const of = (each: typeof own) =>
      placing.feasibility.profiles(placing.targetOf(each).podClass.shape, placing.targetOf(each).level);
    expect(of(own)).toBe(of(other));
    expect(of(third)).not.toBe(of(own));
  });

  test.each([
    ['tolerations', { tolerations: [{ key: 'own' }] }, ['default', 'tainted']],
    ['host ports', { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] }, []],
  ])('are separate lists for pods that differ in %s', (_, options, expected) => {
    const [plain, own] = [pod('plain'), pod('own', options)];
    const ports = { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] };
    const agent: DaemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'kube-system' },
      spec: { selector: { matchLabels: { app: 'agent' } }, template: { spec: ports } },
    };
    const nodePools = [pool(), pool('tainted', { taints: [taint] })];
    const placing = placingOf(packingInput({ pods: [plain, own], nodePools, daemonSets: [agent] }, { types }));
    const names = (each: typeof own) => {
      const { podClass, level } = placing.targetOf(each);
      return profileNames(placing.feasibility.profiles(podClass.shape, level), placing);
    };
    expect(names(plain)).toEqual(['default']);
    expect(names(own)).toEqual(expected);
  });

  test('are separate lists for a pod with more alternatives', () => {
    const [one, two] = [pod('one', terms('zone-a')), pod('two', terms('zone-a', 'zone-b'))];
    const placing = placingOf(packingInput({ pods: [one, two] }, { types }));
    const names = (each: typeof one) => {
      const { podClass, level } = placing.targetOf(each);
      return profileNames(placing.feasibility.profiles(podClass.shape, level), placing, zone);
    };
    expect(names(one)).toEqual(['default/zone-a']);
    expect(names(two)).toEqual(['default/zone-a', 'default/zone-b']);
  });

  test('exclude those with PreferNoSchedule until the pod gives up its preferences (scheduling/relaxation)', () => {
    const own = pod('own');
    const nodePools = [pool(), pool('avoided', { taints: [{ key: 'own', effect: 'PreferNoSchedule' }] })];
    const placing = placingOf(packingInput({ pods: [own], nodePools }, { types }));
    const names = (at: number) => {
      const { podClass, level } = placing.targetOf(own, at);
      return profileNames(placing.feasibility.profiles(podClass.shape, level), placing);
    };
    expect(names(0)).toEqual(['default']);
    expect(names(-1)).toEqual(['avoided', 'default']);
  });

  test("exclude those whose DaemonSets have the pod's host ports", () => {
    const ports = { containers: [{ name: 'main', ports: [{ hostPort: 80 }] }] };
    const own = pod('own', ports);
    const agent: DaemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'kube-system' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: { spec: { ...ports, nodeSelector: { [zone]: 'zone-a' } } },
      },
    };
    const placing = placingOf(packingInput({ pods: [own, pod('plain')], daemonSets: [agent] }, { types }));
    const { podClass, level } = placing.targetOf(own);
    expect(profileNames(placing.feasibility.profiles(podClass.shape, level), placing, zone)).toEqual([
      'default/zone-b',
    ]);
  });
});

describe('minValues of a NodePool as a class needs them (min-values/strict-and-best-effort)', () => {
  const varied = (minValues: number, ...values: string[]) =>
    pool('varied', { requirements: [{ key: typeKey, operator: 'In', values, minValues }] });
  const admitted = (minValuesPolicy: 'Strict' | 'BestEffort', ...nodePools: ReturnType<typeof pool>[]) => {
    const own = pod('own');
    const several = [...types, instanceType('m8', { cpu: 8, spot: 0, zones: ['zone-a'] })];
    const placing = placingOf(
      packingInput({ pods: [own, anywhere], nodePools }, { types: several, settings: { minValuesPolicy } }),
    );
    const { podClass, level } = placing.targetOf(own);
    return profileNames(placing.feasibility.profiles(podClass.shape, level), placing, zone);
  };

  test('are met where enough types hold the class', () => {
    expect(admitted('Strict', varied(2, 'm4', 'm8'), pool())).toContain('varied/zone-a');
  });

  test('not met by too few types exclude the NodePool under Strict alone', () => {
    expect(admitted('Strict', varied(3, 'm4', 'm8', 'none'), pool())).toEqual(['default/zone-a', 'default/zone-b']);
    const two = pool('varied', {
      requirements: [
        { key: typeKey, operator: 'In', values: ['m4', 'm8'], minValues: 2 },
        { key: zone, operator: 'Exists', minValues: 9 },
      ],
    });
    expect(admitted('Strict', two, pool())).toEqual(['default/zone-a', 'default/zone-b']);
    expect(admitted('BestEffort', varied(3, 'm4', 'm8', 'none'), pool())).toContain('varied/zone-a');
  });
});

describe('existing nodes that admit a pod', () => {
  const nodes = [node('a'), node('b', { zone: 'zone-b' }), node('tainted', { taints: [taint] })];
  test.each([
    ['any', {}, [true, true, false]],
    ['one zone', { nodeSelector: { [zone]: 'zone-b' } }, [false, true, false]],
    ['a tolerated taint', { tolerations: [{ key: 'own' }] }, [true, true, true]],
  ])('%s', (_, options, expected) => {
    const own = pod('own', options);
    const placing = placingOf(packingInput({ pods: [own, anywhere], nodes }, { types }));
    const { level } = placing.targetOf(own);
    const admits = () => placing.nodes.map(({ kind }) => placing.feasibility.admitsKind(level, kind));
    expect(admits()).toEqual(expected);
    expect(admits()).toEqual(expected);
  });

  test('exclude those with PreferNoSchedule too', () => {
    const own = pod('own');
    const avoided = node('a', { taints: [{ key: 'own', effect: 'PreferNoSchedule' }] });
    const placing = placingOf(packingInput({ pods: [own], nodes: [avoided] }, { types }));
    const admits = (at: number) =>
      placing.feasibility.admitsKind(placing.targetOf(own, at).level, placing.nodes[0]!.kind);
    expect([admits(0), admits(-1)]).toEqual([false, true]);
  });
});

describe("the alternative of a pod's required terms that a node satisfies", () => {
  test('is the first one', () => {
    const own = pod('own', terms('zone-a', 'zone-b'));
    const placing = placingOf(packingInput({ pods: [own] }, { types }));
    const { level } = placing.targetOf(own);
    const matching = (name: string) =>
      placing.feasibility.matching(
        level,
        placing.compiled.space.keys.map((key) => (key === zone ? name : undefined)),
      );
    expect(['zone-a', 'zone-b', 'zone-c'].map(matching)).toEqual([
      level.constraints[0],
      level.constraints[1],
      undefined,
    ]);
  });

  test('is the only one where it has no requirements, and undefined where there is none', () => {
    const own = pod('own');
    const placing = placingOf(packingInput({ pods: [own] }, { types }));
    const { level } = placing.targetOf(own);
    expect(placing.feasibility.matching(level, [])).toBe(level.constraints[0]);
    expect(placing.feasibility.matching({ ...level, constraints: [] }, [])).toBeUndefined();
  });
});

describe('profiles with room for a class', () => {
  const sized = [
    instanceType('small', { cpu: 2, spot: 0, zones: ['zone-a'] }),
    instanceType('large', { cpu: 8, spot: 0, zones: ['zone-b'] }),
  ];

  test('hold at least one of its pods', () => {
    const [own, small] = [pod('own', { cpu: '4' }), pod('small', { cpu: '1' })];
    const placing = placingOf(packingInput({ pods: [own, small, anywhere] }, { types: sized }));
    const holding = (each: typeof own, excluded?: ReadonlySet<never>) => {
      const target = placing.targetOf(each);
      return placing.feasibility.holding(target.podClass, target.level, excluded);
    };
    expect(profileNames(holding(own), placing, zone)).toEqual(['default/zone-b']);
    expect(profileNames(holding(small), placing, zone)).toEqual(['default/zone-a', 'default/zone-b']);
    expect(holding(own)).toBe(holding(own));
    const { podClass, level } = placing.targetOf(small);
    const [first, ...others] = holding(small);
    expect(placing.feasibility.holding(podClass, level, new Set([first!]))).toEqual(others);
  });

  test('are of the NodePools of the highest weight (scheduling/heaviest-pool-first)', () => {
    const own = pod('own');
    const nodePools = [pool('light'), pool('heavy', { weight: 10 }), pool('too', { weight: 10 })];
    const placing = placingOf(packingInput({ pods: [own], nodePools }, { types }));
    const { podClass, level } = placing.targetOf(own);
    const { feasibility } = placing;
    const heaviest = feasibility.heaviest(feasibility.holding(podClass, level));
    expect([...new Set(heaviest.map(({ pool: of }) => of.name))].sort()).toEqual(['heavy', 'too']);
    expect(feasibility.heaviest([...feasibility.holding(podClass, level)])).toBe(heaviest);
    expect(feasibility.heaviest([])).toEqual([]);
    const light = feasibility.holding(podClass, level).filter(({ pool: of }) => of.name === 'light');
    expect(feasibility.heaviest(light)).toEqual(light);
  });

  test('are one list object where they are equal', () => {
    const own = pod('own');
    const { feasibility, compiled } = placingOf(packingInput({ pods: [own, anywhere] }, { types }));
    const [a, b] = compiled.universe.profiles;
    const list = feasibility.intern([a!, b!]);
    expect(feasibility.intern([a!, b!])).toBe(list);
    expect(feasibility.intern([b!])).not.toBe(list);
    expect(feasibility.intern([b!])).toEqual([b]);
  });
});

describe('the price of a pod', () => {
  const sized = [
    instanceType('small', { cpu: 2, memory: 4, price: 0.2, spot: 0, zones: ['zone-a'] }),
    instanceType('large', { cpu: 8, memory: 64, price: 1, spot: 0, zones: ['zone-a'] }),
  ];
  const priced = (cpu: string, memory: string) => {
    const own = pod('own', { cpu, memory });
    const other = pod('other', { requests: { 'example.com/gpu': '1' } });
    const placing = placingOf(packingInput({ pods: [own, other] }, { types: sized }));
    const { podClass } = placing.targetOf(own);
    const [profile] = placing.compiled.universe.profiles;
    const { feasibility } = placing;
    const one = feasibility.rowOfOne(profile!, feasibility.demand(podClass), 2)?.offering.price ?? Infinity;
    return { share: feasibility.share(podClass, profile!), again: feasibility.share(podClass, profile!), one };
  };

  test.each([
    { cpu: '2', memory: '1Gi', share: 0.2, one: 0.2 },
    { cpu: '1', memory: '16Gi', share: 0.25, one: 1 },
    { cpu: '1', memory: '3Gi', share: 0.125, one: 0.2 },
    { cpu: '8', memory: '64Gi', share: 1, one: 1 },
    { cpu: '9', memory: '1Gi', share: Infinity, one: Infinity },
  ])('of $cpu and $memory: its share of the cheapest node, and a node for it alone', ({ cpu, memory, share, one }) => {
    expect(priced(cpu, memory)).toEqual({ share, again: share, one });
  });
});

test('a pod with a capacity type distinguishes spot from on-demand profiles', () => {
  const own = pod('own', { nodeSelector: { [capacityType]: 'spot' } });
  const both = [instanceType('m4', { cpu: 4, zones: ['zone-a'] })];
  const placing = placingOf(packingInput({ pods: [own] }, { types: both }));
  const { podClass, level } = placing.targetOf(own);
  expect(profileNames(placing.feasibility.profiles(podClass.shape, level), placing, capacityType)).toEqual([
    'default/spot',
  ]);
});

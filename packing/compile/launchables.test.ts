import { expect, test } from '@jest/globals';
import type { DaemonSet } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';
import { requirementOf } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';
import type { Launchable } from './launchables.js';

const cpuLabel = 'karpenter.k8s.aws/instance-cpu';

const kindLabel = 'example.com/kind';

test('launchable types count as alike in a label that no requirement distinguishes', () => {
  const sized = (name: string, cpu: number, kind: string, zones: readonly string[]) =>
    instanceType(name, { cpu, zones, spot: 0, labels: { [cpuLabel]: String(cpu), [kindLabel]: kind } });
  // Each kind's first type stands for all of eight CPUs and more of it.
  const types = [
    sized('a-32x', 32, 'a', ['zone-b']),
    sized('b-8x', 8, 'b', ['zone-a', 'zone-b']),
    sized('c-4x', 4, 'b', ['zone-a']),
    sized('d-16x', 16, 'b', ['zone-b']),
  ];
  const expressions = [
    { key: cpuLabel, operator: 'Lt', values: ['8'] },
    { key: kindLabel, operator: 'NotIn', values: ['a'] },
  ] as const;
  const small = pod('small', {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: expressions.map((each) => ({ matchExpressions: [{ ...each, values: [...each.values] }] })),
        },
      },
    },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' }],
  });
  const { compiled } = topologyOf(packingInput({ pods: [small] }, { types }));
  const { space, universe, launchables } = compiled;
  const key = space.find(cpuLabel)!;
  const large = universe.rows.filter(({ type }) => type.name !== 'c-4x');

  expect(new Set(large.map(({ profile }) => profile.values[key]))).toEqual(new Set(['8', '32']));
  for (const row of large) {
    const alike = launchables
      .of(space, [], row, { alike: [key], shunned: [], beside: [] })
      .types.map(({ type }) => type.name);
    expect(alike).toEqual(['b-8x', 'd-16x', 'a-32x']);
  }
});

const only = (requirements: Readonly<Record<string, readonly string[]>>): Requirements =>
  new Map(Object.entries(requirements).map(([key, values]) => [key, requirementOf('In', values)]));
const bought = (list: readonly Launchable[]) =>
  list.map(({ type, cheapest, capacityTypes, capacity }) => [
    type.name,
    `${cheapest.zone}/${cheapest.capacityType}`,
    [...capacityTypes].sort(),
    capacity[0],
  ]);
/** What can be launched for pods that are spread over zones, beside a DaemonSet that runs in one of them, of 500m and with a host port. */
function supply() {
  const spread = pod('p', {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' }],
  });
  const main = {
    name: 'main',
    resources: { requests: { cpu: '500m' } },
    ports: [{ containerPort: 80, hostPort: 9100 }],
  };
  const agent: DaemonSet = {
    ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent', namespace: 'kube-system' } },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: { spec: { containers: [main], nodeSelector: { [labels.zone]: 'zone-a' } } },
    },
  };
  const zones = ['zone-a', 'zone-b'];
  const types = [
    instanceType('m4', { cpu: 4, zones, price: 0.4 }),
    instanceType('m2', { cpu: 2, zones, price: 0.2 }),
    instanceType('m8', { cpu: 8, zones: ['zone-b'], price: 0.8 }),
  ];
  const nodePools = [pool('a'), pool('b', { labels: { team: 'b' } })];
  const { compiled } = topologyOf(packingInput({ pods: [spread], daemonSets: [agent], nodePools }, { types }));
  const { space, universe, launchables } = compiled;
  const [first] = universe.rows;
  const list = (joint: Requirements, options?: Parameters<typeof launchables.of>[3]) =>
    launchables.of(space, [joint], first!, options).types;
  return { list, universe, launchables, space };
}

test('launchable types are sorted by price, each with its cheapest allowed offering and the least room beside DaemonSets', () => {
  const { list } = supply();
  const both = ['on-demand', 'spot'];
  expect(bought(list(new Map()))).toEqual([
    ['m2', 'zone-a/spot', both, 1500],
    ['m4', 'zone-a/spot', both, 3500],
    ['m8', 'zone-b/spot', both, 8000],
  ]);
  expect(bought(list(only({ [labels.zone]: ['zone-b'], [labels.capacityType]: ['on-demand'] })))).toEqual([
    ['m2', 'zone-b/on-demand', ['on-demand'], 2000],
    ['m4', 'zone-b/on-demand', ['on-demand'], 4000],
    ['m8', 'zone-b/on-demand', ['on-demand'], 8000],
  ]);
  expect(bought(list(only({ [labels.zone]: ['zone-a'] }))).map(([name]) => name)).toEqual(['m2', 'm4']);
  expect(list(only({ [labels.zone]: ['zone-c'] }))).toEqual([]);
});

test('launchable types exclude those with an allowed offering on an excluded profile', () => {
  const { list, universe } = supply();
  const shunned = universe.profiles.filter(({ rows }) => universe.rows[rows[0]!]!.zone === 'zone-a');
  const names = (excluded: typeof shunned, joint: Requirements = new Map()) =>
    list(joint, { alike: [], beside: [], shunned: excluded }).map(({ type }) => type.name);
  expect(names(shunned)).toEqual(['m8']);
  expect(names([])).toEqual(['m2', 'm4', 'm8']);
  expect(names(shunned, only({ [labels.zone]: ['zone-b'] }))).toEqual(['m2', 'm4', 'm8']);
});

test('launchable types are computed once for equal requirements, and for each NodePool separately', () => {
  const { list, universe, launchables, space } = supply();
  const inB = only({ [labels.zone]: ['zone-b'] });
  expect(list(inB)).toBe(list(only({ [labels.zone]: ['zone-b'] })));
  expect(list(new Map())).not.toBe(list(inB));
  const other = universe.rows.find(({ profile }) => profile.pool.name !== universe.rows[0]!.profile.pool.name)!;
  const ofOther = launchables.of(space, [inB], other).types;
  expect(ofOther.map(({ cheapest }) => cheapest.profile.pool)).toEqual(ofOther.map(() => other.profile.pool));
});

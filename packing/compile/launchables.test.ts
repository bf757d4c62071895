import { expect, test } from 'vitest';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';

const cpuLabel = 'karpenter.k8s.aws/instance-cpu';

const kindLabel = 'example.com/kind';

test('types are alike in a key where nothing tells its values apart, whichever value stands for them', () => {
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
    const alike = launchables.of(space, new Map(), row, { alike: [key], ports: [] }).map(({ type }) => type.name);
    expect(alike).toEqual(['b-8x', 'd-16x', 'a-32x']);
  }
});

import { expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';

const cpuLabel = 'karpenter.k8s.aws/instance-cpu';

test('types are alike in a key where nothing tells its values apart, whichever value stands for them in a zone', () => {
  const sized = (name: string, cpu: number, zones: readonly string[]) =>
    instanceType(name, { cpu, zones, spot: 0, labels: { [cpuLabel]: String(cpu) } });
  // In zone-b the larger type comes first: its size stands for all of eight and more there.
  const types = [sized('a-32x', 32, ['zone-b']), sized('b-8x', 8, ['zone-a', 'zone-b']), sized('c-4x', 4, ['zone-a'])];
  const small = pod('small', {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: cpuLabel, operator: 'Lt', values: ['8'] }] }],
        },
      },
    },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' }],
  });
  const { compiled } = topologyOf(packingInput({ pods: [small] }, { types }));
  const { space, universe, launchables } = compiled;
  const key = space.find(cpuLabel)!;
  const eight = universe.rows.filter(({ type }) => type.name === 'b-8x');

  expect(new Set(eight.map(({ profile }) => profile.values[key]))).toEqual(new Set(['8', '32']));
  for (const row of eight) {
    expect(launchables.of(space, new Map(), row, { alike: [key], ports: [] }).map(({ type }) => type.name)).toEqual([
      'b-8x',
      'a-32x',
    ]);
  }
});

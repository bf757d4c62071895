import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { readMachineTypes } from '../checker/catalogue.js';
import { readCluster } from '../checker/cluster.js';
import { benchmarkCatalogue, ec2Catalogue } from './catalogues.js';
import { cornerTraits } from './corner.js';
import { generate, generateCorner, kinds } from './index.js';
import { Random } from './random.js';

const podsOf = (items: readonly { kind: string }[]): Pod[] => items.filter(({ kind }) => kind === 'Pod') as Pod[];

describe('generate: cases by kind and seed', () => {
  test.each(kinds)('%s gives the same case for the same seed, another for another', (kind) => {
    const text = JSON.stringify(generate(kind, 40, 7));
    expect(JSON.stringify(generate(kind, 40, 7))).toBe(text);
    expect(JSON.stringify(generate(kind, 40, 8))).not.toBe(text);
  });

  test.each(kinds)('%s gives objects with unique kind and name', (kind) => {
    for (let seed = 1; seed <= 30; seed++) {
      const { objects, catalogue } = generate(kind, 50, seed);
      const names = objects.map(
        (object) => `${object.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`,
      );
      expect(new Set(names).size).toBe(names.length);
      expect(readCluster({ items: objects }).pools.size).toBeGreaterThan(0);
      expect(readMachineTypes(catalogue).size).toBe(catalogue.length);
    }
  });

  test.each(cornerTraits)('the corner trait %s adds pods', (trait) => {
    expect(podsOf(generateCorner([trait], 30, 3).objects).length).toBeGreaterThan(0);
  });

  test('the benchmark mix has a fifth each of five kinds of pod', () => {
    const pods = podsOf(generate('benchmark-mix', 1003, 1).objects);
    const count = (has: (pod: Pod) => boolean): number => pods.filter(has).length;
    const spreads = (key: string) => (pod: Pod) => pod.spec.topologySpreadConstraints?.[0]?.topologyKey === key;
    expect(pods.length).toBe(1003);
    expect(count(spreads('topology.kubernetes.io/zone'))).toBe(200);
    expect(count(spreads('kubernetes.io/hostname'))).toBe(200);
    expect(count((pod) => pod.spec.affinity?.podAffinity !== undefined)).toBe(200);
    expect(count((pod) => pod.spec.affinity?.podAntiAffinity !== undefined)).toBe(200);
    const plain = (pod: Pod): boolean =>
      pod.spec.affinity === undefined && pod.spec.topologySpreadConstraints === undefined;
    expect(count(plain)).toBe(203);
  });

  test('the realistic mix has the requested number of pods', () => {
    expect(podsOf(generate('realistic', 500, 1).objects)).toHaveLength(500);
    const nodes = generate('realistic-nodes', 100, 1).objects.filter(({ kind }) => kind === 'Node');
    expect(nodes).toHaveLength(50);
  });
});

describe('catalogues of test cases', () => {
  test("Karpenter's benchmark types grow by one CPU and two GiB", () => {
    const types = benchmarkCatalogue();
    expect(types).toHaveLength(400);
    expect(types[399]?.resources).toEqual({ cpu: '400', memory: '800Gi', pods: '4000' });
    expect(types[0]?.offerings[0]?.Price).toBeCloseTo(0.1 + 0.2147483648, 4);
    expect(types[0]?.offerings).toHaveLength(5);
  });

  test('the EC2-like catalogue has about 800 types in three zones, each name once', () => {
    const types = ec2Catalogue(new Random(1));
    expect(types.length).toBeGreaterThan(700);
    expect(new Set(types.map(({ name }) => name)).size).toBe(types.length);
    expect(types.some(({ resources }) => resources['nvidia.com/gpu'] !== undefined)).toBe(true);
    expect(types.some(({ architecture }) => architecture === 'arm64')).toBe(true);
  });
});

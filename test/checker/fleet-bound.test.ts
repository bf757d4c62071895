import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../api/kubernetes.js';
import { offering } from '../cases/catalogues.js';
import { nodePool, pod, requestsOf, runningNode } from '../cases/objects.js';
import { nodeLabels } from '../cases/realistic.js';
import { fleetBound } from './fleet-bound.js';
import type { CatalogueEntry } from './types.js';

const type = (name: string, cpu: number, price: number): CatalogueEntry => ({
  name,
  architecture: 'amd64',
  operatingSystems: ['linux'],
  resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '10' },
  offerings: [offering('a', 'on-demand', price)],
});
const dear = type('m-2x', 2, 0.15);
const cheap = type('m-4x', 4, 0.2);
const catalogue = [dear, cheap];

const node = (name: string, of: CatalogueEntry): KubernetesObject[] =>
  runningNode({ name, pool: 'default', labels: nodeLabels(of, of.offerings[0]!), allocatable: { ...of.resources } });
const onNode = (name: string, nodeName: string, cpu: string, protectedBy?: string): KubernetesObject => {
  const made = pod(name, { app: 'web' }, requestsOf(cpu, '1Gi'), { nodeName });
  if (protectedBy !== undefined) made.metadata.annotations = { [protectedBy]: 'true' };
  return made;
};
const pool = (budget: string): KubernetesObject =>
  nodePool('default', { disruption: { budgets: [{ nodes: budget }] } });
const bound = (...items: KubernetesObject[]): number => fleetBound({ items }, catalogue);

describe('fleetBound: a price below which no fleet can be', () => {
  test('is, for movable pods, their share of the cheapest node', () => {
    const two = [...node('n1', dear), ...node('n2', dear), onNode('p1', 'n1', '1'), onNode('p2', 'n2', '1')];
    expect(bound(pool('100%'), ...two)).toBeCloseTo(0.2 * (2 / 4), 9);
  });

  test('counts a node that must stay at its full price, and its free room at no price', () => {
    const guarded = onNode('p1', 'n1', '1', 'karpenter.sh/do-not-disrupt');
    const held = [...node('n1', dear), guarded];
    expect(bound(pool('100%'), ...held, ...node('n2', dear), onNode('p2', 'n2', '1'))).toBeCloseTo(0.15, 9);
    // A pod of two cores has one core there, and pays for the other.
    const more = [...held, ...node('n2', dear), onNode('p2', 'n2', '2')];
    expect(bound(pool('100%'), ...more)).toBeCloseTo(0.15 + 0.2 / 4, 9);
  });

  test('counts every node under a budget of 0', () => {
    const two = [...node('n1', dear), ...node('n2', dear), onNode('p1', 'n1', '1')];
    expect(bound(pool('0'), ...two)).toBeCloseTo(0.3, 9);
    expect(bound(pool('1'), ...two)).toBeCloseTo(0.2 / 4, 9);
  });

  test('counts an existing node that is cheaper than any launch once', () => {
    const bargain = type('m-2x', 2, 0.02);
    const two = [...node('n1', bargain), ...node('n2', cheap), onNode('p1', 'n1', '2'), onNode('p2', 'n2', '2')];
    const only = nodePool('default', {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m-4x'] }],
      disruption: { budgets: [{ nodes: '100%' }] },
    });
    expect(fleetBound({ items: [only, ...two] }, [bargain, cheap])).toBeCloseTo(0.02 + 0.2 / 2, 9);
  });

  test('counts a node for each pod with anti-affinity to its like', () => {
    const apart = (name: string, nodeName: string): KubernetesObject =>
      pod(name, { app: 'web' }, requestsOf('100m', '64Mi'), {
        nodeName,
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' },
            ],
          },
        },
      });
    const three = ['n1', 'n2', 'n3'].flatMap((name) => [...node(name, cheap), apart(`p-${name}`, name)]);
    expect(bound(pool('100%'), ...three)).toBeCloseTo(3 * 0.15, 9);
    // A node that may not go is there for one of them.
    const guarded = [...node('n4', dear), onNode('p4', 'n4', '1', 'karpenter.sh/do-not-disrupt')];
    expect(bound(pool('100%'), ...three, ...guarded)).toBeCloseTo(0.15 + 2 * 0.15, 9);
  });

  test('counts no empty nodes', () => {
    expect(bound(pool('100%'), ...node('n1', cheap), ...node('n2', dear))).toBe(0);
  });
});

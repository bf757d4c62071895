import { describe, expect, test } from '@jest/globals';
import { instanceType, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const nominated = ({ newNodeClaims }: Plan): string[] => newNodeClaims.flatMap((claim) => claim.nominated ?? []).sort();

// Rule `provisioning/nominated-pods`.
describe('pods that are nominated to their planned nodes', () => {
  test('are none where all nodes hold all pods alike, however many pods there are', () => {
    const types = [instanceType('only', { cpu: 16, memory: 64 })];
    const pods = ['500m', '1', '2'].flatMap((cpu, i) => podsOf(1000, `p${i}`, { cpu }));
    const result = plan(packingInput({ pods }, { types }));
    expect(result.newNodeClaims.length).toBeGreaterThan(100);
    expect(result.newNodeClaims.reduce((sum, claim) => sum + claim.pods.length, 0)).toBe(3000);
    expect(nominated(result)).toEqual([]);
  });

  test('are none where a few of the pods fit on a node meant for the rest', () => {
    const types = [instanceType('large', { cpu: 16, price: 1 }), instanceType('small', { cpu: 1, price: 0.1 })];
    const pods = [...podsOf(700, 'a', { cpu: '4' }), ...podsOf(3, 'b', { cpu: '500m' })];
    expect(nominated(plan(packingInput({ pods }, { types })))).toEqual([]);
  });

  test('are those whose only node other pods could take', () => {
    const types = [instanceType('small', { cpu: 2, price: 0.1 }), instanceType('large', { cpu: 16, price: 2 })];
    const pods = [...podsOf(60, 'small', { cpu: '1500m' }), ...podsOf(1, 'large', { cpu: '10' })];
    const result = plan(packingInput({ pods }, { types }));
    expect(result.newNodeClaims.length).toBeGreaterThan(20);
    expect(nominated(result)).toEqual(['default/large-0']);
  });

  test('are those that need a label, not those that fit anywhere', () => {
    const types = [instanceType('only', { cpu: 4 })];
    const inZone = { nodeSelector: { 'topology.kubernetes.io/zone': 'zone-b' } };
    const pods = [...podsOf(80, 'any', { cpu: '2' }), ...podsOf(4, 'bound', { cpu: '2', ...inZone })];
    const names = nominated(plan(packingInput({ pods }, { types })));
    expect(names.every((name) => name.startsWith('default/bound-'))).toBe(true);
  });

  test('are the larger ones of several sizes in a small plan', () => {
    const types = [instanceType('only', { cpu: 4 })];
    const pods = [...podsOf(2, 'large', { cpu: '2500m' }), ...podsOf(2, 'small', { cpu: '1' })];
    expect(nominated(plan(packingInput({ pods }, { types })))).toEqual(['default/large-0', 'default/large-1']);
    expect(nominated(plan(packingInput({ pods: podsOf(8, 'like', { cpu: '2500m' }) }, { types })))).toEqual([]);
  });
});

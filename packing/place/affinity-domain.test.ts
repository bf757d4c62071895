import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import type { InstanceType } from '../../core/instance-type.js';
import { instanceType, node, packingInput, podsOf, type PodOptions } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { near } from '../../test/builders/topology.js';
import type { ClusterObjects } from '../types.js';
import { bestAffinityDomain } from './affinity-domain.js';

const web = (more: PodOptions = {}): PodOptions => ({ labels: { app: 'web' }, ...near('web'), ...more });
const type = (name: string, cpu: number, price: number, ...zones: string[]): InstanceType =>
  instanceType(name, { cpu, price, spot: 0, zones });

/** The zone for pods that want to be together. */
function zoneFor(pods: readonly Pod[], types: readonly InstanceType[], objects: Partial<ClusterObjects> = {}) {
  const { feasibility, cells, targetOf, compiled } = placingOf(
    packingInput({ pods: [...pods], ...objects }, { types }),
  );
  const members = compiled.queue.map((podClass) => targetOf(podClass.pods[0]!));
  return bestAffinityDomain(feasibility, cells, members[0]!.rules.affinity[0]!, members);
}

describe('the domain chosen for pods with affinity to each other', () => {
  test('is the one where a node for all of them costs least', () => {
    const types = [type('a', 8, 0.5, 'zone-a'), type('b', 8, 0.4, 'zone-b'), type('c', 8, 0.6, 'zone-c')];
    expect(zoneFor(podsOf(4, 'p', web()), types)).toBe('zone-b');
  });

  test('is one with a node that holds all, before those with cheaper shares', () => {
    // Two pods: a third of the large one is cheap, but all of it is not.
    const types = [type('large', 12, 1.2, 'zone-a'), type('small', 2, 0.4, 'zone-b')];
    expect(zoneFor(podsOf(2, 'p', web()), types)).toBe('zone-b');
    expect(zoneFor(podsOf(9, 'p', web()), types)).toBe('zone-a');
  });

  test('is the one with the cheapest shares where no node holds all', () => {
    const types = [type('a', 4, 0.5, 'zone-a'), type('b', 4, 0.4, 'zone-b')];
    expect(zoneFor(podsOf(9, 'p', web()), types)).toBe('zone-b');
  });

  test('is the first by name among equal ones', () => {
    expect(zoneFor(podsOf(2, 'p', web()), [type('t', 4, 0.4, 'zone-c', 'zone-b')])).toBe('zone-b');
  });

  test('is the one with room for most pods, whatever it costs', () => {
    const nodes = [node('b', { zone: 'zone-b', cpu: '3' })];
    const types = [type('dear', 4, 9, 'zone-a')];
    expect(zoneFor(podsOf(4, 'p', web()), types, { nodes })).toBe('zone-a');
    expect(zoneFor(podsOf(3, 'p', web()), types, { nodes })).toBe('zone-b');
  });

  test('is the one whose existing nodes leave least to buy', () => {
    const types = [type('t', 4, 0.4, 'zone-a', 'zone-b'), type('s', 1, 0.1, 'zone-a', 'zone-b')];
    const nodes = [node('b', { zone: 'zone-b', cpu: '2' }), node('b2', { zone: 'zone-b', cpu: '1' })];
    expect(zoneFor(podsOf(4, 'p', web()), types, { nodes })).toBe('zone-b');
    expect(zoneFor(podsOf(3, 'p', web()), types, { nodes })).toBe('zone-b');
  });

  test('counts the room of a node once for all classes', () => {
    const pods = [...podsOf(2, 'p', web({ cpu: '2' })), ...podsOf(2, 'q', web({ cpu: '1' }))];
    const nodes = [node('b', { zone: 'zone-b', cpu: '4' }), node('c', { zone: 'zone-c', cpu: '6' })];
    expect(zoneFor(pods, [], { nodes })).toBe('zone-c');
    const pair = [node('b', { zone: 'zone-b', cpu: '5' }), node('c', { zone: 'zone-c', cpu: '3' })];
    expect(zoneFor(pods, [], { nodes: pair })).toBe('zone-b');
  });

  test('adds up the prices of all classes', () => {
    const pods = [
      ...podsOf(2, 'p', web({ cpu: '4', memory: '1Gi' })),
      ...podsOf(2, 'q', web({ cpu: '1', memory: '24Gi' })),
    ];
    const types = [
      instanceType('a', { cpu: 8, memory: 16, price: 0.5, spot: 0, zones: ['zone-a'] }),
      instanceType('a-memory', { cpu: 2, memory: 32, price: 2, spot: 0, zones: ['zone-a'] }),
      instanceType('b', { cpu: 8, memory: 32, price: 1, spot: 0, zones: ['zone-b'] }),
    ];
    // Shares in zone-a: 2 * 0.25 + 2 * 1.5, in zone-b: 2 * 0.5 + 2 * 0.75.
    expect(zoneFor(pods, types)).toBe('zone-b');
  });

  test('is undefined where no domain admits them', () => {
    expect(zoneFor(podsOf(2, 'p', web()), [])).toBeUndefined();
  });
});

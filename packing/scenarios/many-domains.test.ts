import { expect, test } from '@jest/globals';
import type { PodSpec } from '../../api/kubernetes.js';
import { node, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { compile } from '../compile/compiled.js';
import { plan } from '../plan.js';

const racks = Array.from({ length: 3000 }, (_, n) => `r${n}`);
const nodePools = [pool('default', { requirements: [{ key: 'rack', operator: 'In', values: racks }] })];
const spread: PodSpec['topologySpreadConstraints'] = [
  { maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'a' } } },
];
const spreading = (name: string, spec: Partial<PodSpec> = {}) =>
  pod(name, { labels: { app: 'a' }, topologySpreadConstraints: spread, ...spec });

test('of thousands of values of a topology key only a limited number are domains, and pods spread over those', () => {
  const input = packingInput({ pods: Array.from({ length: 5 }, (_, n) => spreading(`p-${n}`)), nodePools });
  const { profiles } = compile(input).universe;
  const { newNodeClaims, unschedulable } = plan(input);
  const few = [pool('default', { requirements: [{ key: 'rack', operator: 'In', values: racks.slice(0, 128) }] })];
  expect(profiles).toHaveLength(compile({ ...input, objects: { ...input.objects, nodePools: few } }).universe.profiles.length); // prettier-ignore
  expect(unschedulable).toEqual([]);
  expect(newNodeClaims).toHaveLength(5);
});

test('values that pods name or nodes have are among these domains', () => {
  const pods = [spreading('named', { nodeSelector: { rack: 'r2999' } }), spreading('any')];
  const nodes = [node('n', { labels: { rack: 'r2998' }, cpu: '1m' })];
  const input = packingInput({ pods, nodes, nodePools });
  const { space, universe } = compile(input);
  const found = new Set(universe.profiles.map(({ values }) => values[space.find('rack')!]));
  expect(found.has('r2999') && found.has('r2998')).toBe(true);
  expect(found.size).toBe(128);
  expect(plan(input).unschedulable).toEqual([]);
});

test('values that are no domains cost no more whatever their number', () => {
  const input = packingInput({ pods: [pod('a'), pod('b', { nodeSelector: { rack: 'r17' } })], nodePools });
  const { profiles } = compile(input).universe;
  const two = [pool('default', { requirements: [{ key: 'rack', operator: 'In', values: ['r1', 'r17'] }] })];
  expect(profiles).toHaveLength(compile({ ...input, objects: { ...input.objects, nodePools: two } }).universe.profiles.length); // prettier-ignore
});

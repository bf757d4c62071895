import { expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, node, offering, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

test('a single pod that spreads over zones goes to the zone with the cheapest node for it, not with the cheapest share of a larger one', () => {
  const at = (name: string, cpu: number, zone: string, price: number) =>
    instanceType(name, { cpu, offerings: [offering(zone, 'on-demand', price)] });
  const types = [at('small', 2, 'zone-a', 0.029), at('large', 16, 'zone-c', 0.1)];
  const spread = {
    maxSkew: 1,
    topologyKey: labels.zone,
    whenUnsatisfiable: 'DoNotSchedule' as const,
    labelSelector: { matchLabels: { app: 'web' } },
  };
  const pods = [pod('web', { labels: { app: 'web' }, topologySpreadConstraints: [spread] })];
  expect(plan(packingInput({ pods }, { types })).pricePerHour).toBe(0.029);
});

test('no node is launched where existing ones hold the pods together, in whatever order (scheduling/existing-nodes-first)', () => {
  const nodes = [node('n1', { cpu: '2', memory: '8Gi' }), node('n2', { cpu: '2', memory: '2Gi' })];
  const pods = [pod('x', { cpu: '2', memory: '1Gi' }), pod('y', { cpu: '1900m', memory: '8Gi' })];
  const result = plan(packingInput({ pods, nodes }));
  expect(result.newNodeClaims).toEqual([]);
  expect(result.existingNodes).toEqual([
    { node: 'n1', pods: ['default/y'] },
    { node: 'n2', pods: ['default/x'] },
  ]);
});

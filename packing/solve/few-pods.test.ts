import { expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, node, offering, packingInput, pod, podsOf } from '../../test/builders/packing-fixtures.js';
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

test('pods that must share the node of another pod wait for it: the cheapest zone for all of them is found', () => {
  const at = (name: string, cpu: number, zone: string, price: number) =>
    instanceType(name, { cpu, offerings: [offering(zone, 'on-demand', price)] });
  const types = [at('small', 2, 'zone-c', 0.02), at('large', 8, 'zone-c', 0.18), at('middle', 4, 'zone-b', 0.07)];
  const near = (topologyKey: string) => ({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey, labelSelector: { matchLabels: { app: 'leader' } } },
        ],
      },
    },
  });
  const followers = podsOf(2, 'follower', { cpu: '1', ...near(labels.hostname) });
  const leader = pod('leader', { cpu: '750m', labels: { app: 'leader' }, ...near(labels.zone) });
  expect(plan(packingInput({ pods: [...followers, leader] }, { types })).pricePerHour).toBe(0.07);
});

test('an existing node is left to the pod that no new node could hold (scheduling/existing-nodes-first)', () => {
  const nodes = [node('n1', { cpu: '2', labels: { only: 'here' } })];
  const pods = [pod('any', { cpu: '1900m' }), pod('picky', { cpu: '1', nodeSelector: { only: 'here' } })];
  const result = plan(packingInput({ pods, nodes }));
  expect(result.existingNodes).toEqual([{ node: 'n1', pods: ['default/picky'] }]);
  expect(result.unschedulable).toEqual([]);
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

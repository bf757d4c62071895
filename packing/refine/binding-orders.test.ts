import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const spreadOver = (topologyKey: string) => [
  {
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'DoNotSchedule' as const,
    labelSelector: { matchLabels: { app: 'web' } },
  },
];

/** Some pods of an app are spread over three zones, the others over capacity types: both rules count all of them. */
const twoRules = () => {
  const app = { cpu: '1', labels: { app: 'web' } };
  return [
    ...podsOf(6, 'by-zone', { ...app, topologySpreadConstraints: spreadOver(labels.zone) }),
    ...podsOf(6, 'by-capacity-type', { ...app, topologySpreadConstraints: spreadOver(labels.capacityType) }),
  ];
};

const zones = ['zone-a', 'zone-b', 'zone-c'];
const planOn = (sizes: readonly number[]): Plan =>
  plan(
    packingInput(
      { pods: twoRules() },
      {
        types: sizes.map((cpu) => instanceType(`cpu-${cpu}`, { cpu: cpu + 0.5, price: cpu * 0.1, spot: 0.2, zones })),
      },
    ),
  );

describe('plans hold in any order in which pods are bound (topology/any-binding-order)', () => {
  test('where nodes have room one on-demand node is enough, although its zone may then have more pods than the others', () => {
    const { unschedulable, pricePerHour } = planOn([12]);
    expect(unschedulable).toEqual([]);
    expect(pricePerHour).toBeCloseTo(1.2 + 2 * 0.24, 6);
  });

  test('where nodes would be full a second on-demand node is launched: pods spread over zones have no place once the others are bound', () => {
    const { unschedulable, newNodeClaims } = planOn([1, 2, 3, 4, 6]);
    expect(unschedulable).toEqual([]);
    const onDemandZones = newNodeClaims
      .filter(({ cheapest }) => cheapest.capacityType === 'on-demand')
      .map(({ cheapest }) => cheapest.zone);
    expect(new Set(onDemandZones).size).toBeGreaterThan(1);
  });

  test('a domain without a node does not count: all pods share a spot node, though it has five pods more than on-demand', () => {
    const app = { cpu: '1', labels: { app: 'web' } };
    const spread = spreadOver(labels.capacityType).map((each) => ({ ...each, maxSkew: 2 }));
    const pods = [...podsOf(2, 'spread', { ...app, topologySpreadConstraints: spread }), ...podsOf(3, 'other', app)];
    const types = [2, 3, 5].map((cpu) => instanceType(`cpu-${cpu}`, { cpu: cpu + 0.5, price: cpu * 0.1, spot: 0.2 }));
    const { unschedulable, newNodeClaims } = plan(packingInput({ pods }, { types }));
    expect(unschedulable).toEqual([]);
    expect(
      newNodeClaims.map(({ cheapest, pods: { length } }) => [cheapest.instanceType, cheapest.capacityType, length]),
    ).toEqual([['cpu-5', 'spot', 5]]);
  });
});

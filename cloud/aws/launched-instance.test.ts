import { describe, expect, test } from '@jest/globals';
import { awsLabels } from '../../api/aws/labels.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Ec2Instance } from './instances.js';
import { adoptedInstance, type Ec2LaunchRequest } from './launched-instance.js';

const oneOf = (key: string, value: string) => ({ key, operator: 'In' as const, values: [value] });
const offering = (capacityType: string, price: number, own: Readonly<Record<string, string>>) => ({
  requirements: [
    oneOf(labels.zone, 'a'),
    oneOf(labels.capacityType, capacityType),
    ...Object.entries(own).map(([key, value]) => oneOf(key, value)),
  ],
  price,
  available: true,
});
const type: InstanceType = {
  name: 'm5.large',
  requirements: [],
  offerings: [
    offering('on-demand', 1, { [awsLabels.placementGroupPartition]: '1' }),
    offering('on-demand', 1, { [awsLabels.placementGroupPartition]: '2' }),
    offering('reserved', 0.1, { [awsLabels.capacityReservationId]: 'cr-1' }),
    offering('reserved', 0.2, { [awsLabels.capacityReservationId]: 'cr-2' }),
  ],
  capacity: {},
  overhead: {},
};
const request = {
  claim: { metadata: {}, spec: { requirements: [] } },
  pool: { metadata: { name: 'default' } },
  nodeClass: { metadata: { name: 'default' }, spec: {} },
} as unknown as Ec2LaunchRequest;

/** The answer of CreateFleet was lost; the instance is found by its tags. */
describe('an instance found from an earlier launch is labelled with its own properties (invariants/one-instance)', () => {
  test.each<[string, Partial<Ec2Instance>, Record<string, string>, number | undefined]>([
    [
      'the partition of its placement group',
      { labels: { [awsLabels.placementGroupPartition]: '2' } },
      { [awsLabels.placementGroupPartition]: '2' },
      1,
    ],
    ['an empty partition while EC2 has not assigned one', {}, { [awsLabels.placementGroupPartition]: '' }, 1],
    [
      'its capacity reservation and its price',
      { capacityType: 'reserved', capacityReservationId: 'cr-2' },
      { [awsLabels.capacityReservationId]: 'cr-2' },
      0.2,
    ],
    [
      'the capacity type of a reservation that is no longer offered',
      { capacityType: 'reserved', capacityReservationId: 'cr-3' },
      { [labels.capacityType]: 'reserved' },
      undefined,
    ],
  ])('with %s', (_, own, expected, price) => {
    const instance = {
      instanceId: 'i-1',
      instanceType: 'm5.large',
      zone: 'a',
      capacityType: 'on-demand',
      labels: {},
      ...own,
    };
    const adopted = adoptedInstance([type], request, instance as Ec2Instance);
    expect(adopted.labels).toMatchObject(expected);
    expect(adopted.pricePerHour).toBe(price);
  });
});

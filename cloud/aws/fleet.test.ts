import type { CreateFleetError } from '@aws-sdk/client-ec2';
import { describe, expect, test } from '@jest/globals';
import type { LaunchOption } from '../../core/launch-options.js';
import { type FleetInput, fleetRequest, readFleetErrors, withinConfigs } from './fleet.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';

const zone = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] };
const option = (name: string): LaunchOption =>
  ({ type: { name }, offering: { requirements: [zone], price: 1, available: true } }) as unknown as LaunchOption;

// Rule `launch/fleet-request`.
test('a request has the templates of the cheapest types, as many as EC2 takes', () => {
  const options = Array.from({ length: 60 }, (_, i) => option(`m5.${i}`));
  const templates = new Map(options.map(({ type }, i) => [type.name, { template: `lt-${i}`, imageId: 'ami-1' }]));
  templates.set('m5.59', { template: 'lt-0', imageId: 'ami-1' });
  const kept = withinConfigs(options, templates);
  expect(kept.map(({ type }) => type.name)).toEqual([...options.slice(0, 50).map(({ type }) => type.name), 'm5.59']);
  const input: FleetInput = {
    stage: { capacityType: 'on-demand', options: kept },
    templates,
    subnets: new Map([['a', { id: 'subnet-1', zone: 'a' }]]),
    tags: {},
    clientToken: 't',
    prioritized: false,
    context: undefined,
  };
  expect(fleetRequest(input).LaunchTemplateConfigs).toHaveLength(50);
});

const zones = new Map([['subnet-a', 'us-west-2a']]);

const error = (ErrorCode: string, InstanceType = 'm5.large', ErrorMessage = 'words'): CreateFleetError => ({
  ErrorCode,
  ErrorMessage,
  LaunchTemplateAndOverrides: {
    Overrides: { InstanceType: InstanceType as never, SubnetId: 'subnet-a' },
  },
});

describe('readFleetErrors (launch/capacity-errors)', () => {
  test.each([
    'InsufficientInstanceCapacity',
    'MaxSpotInstanceCountExceeded',
    'VcpuLimitExceeded',
    'UnfulfillableCapacity',
    'Unsupported',
    'MaxFleetCountExceeded',
    'ReservationCapacityExceeded',
  ])('%s marks the offering and counts as lack of capacity', (code) => {
    expect(readFleetErrors([error(code)], 'spot', zones)).toMatchObject({
      unavailable: [{ instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'spot', reason: code }],
      exhaustedSubnets: [],
      onlyCapacity: true,
    });
  });

  test('a subnet without addresses is marked instead of the offering', () => {
    expect(readFleetErrors([error('InsufficientFreeAddressesInSubnet')], 'spot', zones)).toMatchObject({
      unavailable: [],
      exhaustedSubnets: ['subnet-a'],
      onlyCapacity: true,
    });
  });

  test.each([undefined, 'pg-1'])('without the service-linked role all spot offerings are marked: group %s', (group) => {
    const code = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';
    expect(readFleetErrors([error(code)], 'spot', zones, group)).toEqual({
      ...readFleetErrors([error(code)], 'spot', zones),
      unavailable: [{ instanceType: '*', zone: '*', capacityType: 'spot', reason: code }],
      onlyCapacity: true,
    });
  });

  test('the claim gets the most frequent error other than insufficient capacity', () => {
    const errors = [
      ...['m5.large', 'c5.large', 'r5.large'].map((type) => error('InsufficientInstanceCapacity', type)),
      error('InvalidAMIID.NotFound', 'm6.large'),
      ...['m7.large', 'c7.large'].map((type) => error('UnauthorizedOperation', type)),
    ];
    expect(readFleetErrors(errors, 'on-demand', zones).reason).toBe('Unauthorized');
    expect(readFleetErrors(errors.slice(0, 3), 'on-demand', zones).reason).toBeUndefined();
  });

  test('one other error among them makes it a failure, not insufficient capacity', () => {
    const errors = [error('InsufficientInstanceCapacity'), error('InvalidParameterValue', 'c5.large', 'no such thing')];
    const verdict = readFleetErrors(errors, 'on-demand', zones);
    expect(verdict.onlyCapacity).toBe(false);
    expect(verdict.message).toContain('no such thing');
    expect(verdict.unavailable).toHaveLength(1);
  });

  test('reserved launches mark no offering: their reservation is counted', () => {
    expect(readFleetErrors([error('ReservationCapacityExceeded')], 'reserved', zones).unavailable).toEqual([]);
  });

  test('within a partition only that partition is marked', () => {
    const { unavailable } = readFleetErrors([error('InsufficientInstanceCapacity')], 'spot', zones, 'pg-1/2');
    expect(unavailable).toMatchObject([{ instanceType: 'm5.large', placement: 'pg-1/2' }]);
  });

  test("a spread group's limit closes its zone to every type, spot and on-demand, within the group alone", () => {
    const words =
      "You've reached the limit of instances in this spread placement group. A spread placement group can have up to seven instances per Availability Zone.";
    const errors = [error('InsufficientInstanceCapacity', 'm5.large', words)];
    const { unavailable, onlyCapacity } = readFleetErrors(errors, 'spot', zones, 'pg-1');
    expect(onlyCapacity).toBe(true);
    const marked = new UnavailableOfferings(() => 0);
    marked.add(unavailable);
    for (const capacityType of ['spot', 'on-demand']) {
      for (const type of ['m5.large', 'c7g.xlarge']) {
        expect(marked.get(capacityType, type, 'us-west-2a', 'pg-1')).toBeDefined();
        expect(marked.get(capacityType, type, 'us-west-2b', 'pg-1')).toBeUndefined();
        expect(marked.get(capacityType, type, 'us-west-2a', 'pg-2')).toBeUndefined();
        expect(marked.get(capacityType, type, 'us-west-2a')).toBeUndefined();
      }
    }
  });
});

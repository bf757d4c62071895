import { describe, expect, test } from '@jest/globals';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import type { AwsCalls } from './calls.js';
import { LaunchTemplates, templateData } from './launch-template.js';
import type { TemplateInput } from './launch-template.js';

const nodeClass = (spec: object = {}) =>
  ec2NodeClasses.mustParse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      role: 'nodes',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { a: 'b' } }],
      securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
      ...spec,
    },
  });

const input: TemplateInput = {
  nodeClass: nodeClass(),
  clusterName: 'c',
  region: 'us-west-2',
  imageId: 'ami-1',
  instanceProfile: 'profile',
  userData: '',
  spot: false,
  efaCards: 0,
  reservation: undefined,
  market: undefined,
  enclaves: false,
  placement: {},
  tenancy: 'default',
  ipv6: false,
  tags: {},
};

const template = (more: Partial<TemplateInput> = {}) => templateData({ ...input, ...more });

describe('a launch template', () => {
  test('has no placement by default', () => {
    expect(template().Placement).toBeUndefined();
    expect(template().NetworkInterfaces).toEqual([{ Groups: [], DeviceIndex: 0 }]);
  });

  // Rule `launch/tenancy`.
  test('names placement group, partition and tenancy', () => {
    const { Placement } = template({ placement: { groupId: 'pg-1', partition: '3' }, tenancy: 'dedicated' });
    expect(Placement).toEqual({ GroupId: 'pg-1', PartitionNumber: 3, Tenancy: 'dedicated' });
  });

  test('gives each interface of a node of an IPv6 cluster one primary address', () => {
    expect(template({ ipv6: true }).NetworkInterfaces).toMatchObject([{ PrimaryIpv6: true, Ipv6AddressCount: 1 }]);
    const [, second] = template({ ipv6: true, efaCards: 2 }).NetworkInterfaces ?? [];
    expect(second).toMatchObject({ InterfaceType: 'efa', NetworkCardIndex: 1, PrimaryIpv6: true });
  });

  // Rule `launch-templates/interfaces`.
  test('gives an EFA-only interface no IP settings, and only the first one a public address', () => {
    const listed = nodeClass({
      ipPrefixCount: 2,
      associatePublicIPAddress: false,
      connectionTracking: { udpTimeout: 30 },
      networkInterfaces: [
        { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' },
        { networkCardIndex: 0, deviceIndex: 1, interfaceType: 'efa-only' },
        { networkCardIndex: 1, deviceIndex: 1, interfaceType: 'interface' },
      ],
    });
    const [first, efaOnly, third] = template({ nodeClass: listed, ipv6: true }).NetworkInterfaces ?? [];
    const talking = { Ipv6AddressCount: 1, Ipv6PrefixCount: 2, ConnectionTrackingSpecification: { UdpTimeout: 30 } };
    expect(first).toMatchObject({ ...talking, AssociatePublicIpAddress: false });
    expect(efaOnly).toEqual({ Groups: [], NetworkCardIndex: 0, DeviceIndex: 1, InterfaceType: 'efa-only' });
    expect(third).toMatchObject(talking);
    expect(third?.AssociatePublicIpAddress).toBeUndefined();
  });

  test('gives prefixes of the family that the nodes talk', () => {
    const nodes = { nodeClass: nodeClass({ ipPrefixCount: 2 }) };
    expect(template(nodes).NetworkInterfaces).toEqual([{ Groups: [], DeviceIndex: 0, Ipv4PrefixCount: 2 }]);
    const [first] = template({ ...nodes, ipv6: true }).NetworkInterfaces ?? [];
    expect(first).toMatchObject({ Ipv6PrefixCount: 2 });
    expect(first?.Ipv4PrefixCount).toBeUndefined();
  });

  test('targets no reservation unless it is for one', () => {
    expect(template().CapacityReservationSpecification).toEqual({ CapacityReservationPreference: 'none' });
    expect(template({ reservation: 'cr-1', market: 'capacity-block' })).toMatchObject({
      CapacityReservationSpecification: {
        CapacityReservationPreference: 'capacity-reservations-only',
        CapacityReservationTarget: { CapacityReservationId: 'cr-1' },
      },
      InstanceMarketOptions: { MarketType: 'capacity-block' },
    });
    expect(template().InstanceMarketOptions).toBeUndefined();
  });

  // Rule `labels/enclaves`.
  test('enables enclaves where pods request them', () => {
    expect(template({ enclaves: true }).EnclaveOptions).toEqual({ Enabled: true });
    expect(template().EnclaveOptions).toBeUndefined();
  });
});

// Rule `launch-templates/unused-are-deleted`.
test('a launch template is deleted once it is an hour old and was not used for an hour', async () => {
  const clock = { time: 0, now: () => clock.time, sleep: () => Promise.resolve() };
  const there = new Map<string, Date>();
  const calls = {
    createLaunchTemplate: ({ LaunchTemplateName: name = '' }) =>
      Promise.resolve(void there.set(name, new Date(clock.time))),
    describeLaunchTemplates: () =>
      Promise.resolve({
        LaunchTemplates: [...there].map(([name, CreateTime]) => ({
          LaunchTemplateName: name,
          LaunchTemplateId: name,
          Tags: [{ Key: 'karpenter.k8s.aws/ec2nodeclass', Value: 'default' }],
          CreateTime,
        })),
      }),
    deleteLaunchTemplate: ({ LaunchTemplateId: id = '' }) => Promise.resolve(void there.delete(id)),
  } as unknown as AwsCalls;
  const templates = new LaunchTemplates(calls, 'c', clock);
  const minute = 60_000;
  const sweep = () => templates.cleanUp({ unusedForMs: 60 * minute });

  const often = await templates.ensure(input);
  const once = await templates.ensure({ ...input, imageId: 'ami-2' });
  clock.time = 40 * minute;
  await templates.ensure(input);
  await expect(sweep()).resolves.toBe(0);
  clock.time = 61 * minute;
  await expect(sweep()).resolves.toBe(1);
  expect([...there.keys()]).toEqual([often]);
  await expect(templates.ensure({ ...input, imageId: 'ami-2' })).resolves.toBe(once);
  expect(there.size).toBe(2);
});

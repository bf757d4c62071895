import { describe, expect, jest, test } from '@jest/globals';
import { Cloud } from './cloud.js';
import { describeNetworkInterfaces, describeSpotInstanceRequests, describeVolumes } from './describe-parts.js';
import type { Params } from './query.js';
import { factsOf } from './templates.js';
import { itemsOf, parseXml, textOf, type XmlElement } from './xml.js';

const item = (inside: string): string => `<item>${inside}</item>`;
/** As moto describes every instance. */
const ofMoto = {
  DescribeInstances: `<r><reservationSet>${item(
    `<reservationId>r-1</reservationId><instancesSet>${item(
      `<instanceId>i-1</instanceId><placement><availabilityZone>us-west-2a</availabilityZone></placement>
       <privateIpAddress>172.31.0.5</privateIpAddress>
       <blockDeviceMapping>${item('<ebs><volumeId>vol-1</volumeId></ebs>')}</blockDeviceMapping>
       <networkInterfaceSet>${item('<networkInterfaceId>eni-1</networkInterfaceId><attachment><deviceIndex>0</deviceIndex></attachment>')}</networkInterfaceSet>`,
    )}</instancesSet>`,
  )}</reservationSet></r>`,
  DescribeVolumes: `<r><volumeSet>${item('<volumeId>vol-1</volumeId><size>8</size>')}${item('<volumeId>vol-other</volumeId>')}</volumeSet></r>`,
  DescribeNetworkInterfaces: `<r><networkInterfaceSet>${item('<networkInterfaceId>eni-1</networkInterfaceId>')}</networkInterfaceSet></r>`,
};

async function launched(
  data: Params,
  { resource = false }: { readonly resource?: boolean } = {},
): Promise<{ cloud: Cloud; instance: XmlElement }> {
  const cloud = new Cloud({
    ...{ motoEndpoint: 'http://127.0.0.1:9', region: 'us-west-2', cluster: 'prod' },
    ...{ clusterEndpoint: 'https://127.0.0.1', clusterCertificate: undefined },
  });
  jest
    .spyOn(cloud.moto, 'ec2')
    .mockImplementation((action) => Promise.resolve(parseXml(ofMoto[action as keyof typeof ofMoto])));
  const facts = { ...factsOf(data, 'us-west-2'), lifecycle: 'spot' as const, namedByResource: resource };
  const [instance] = await cloud.instances.adopt(['i-1'], facts);
  return { cloud, instance: cloud.instances.describe(instance!) };
}

const tags = (type: string): Params => ({ ResourceType: type, Tag: { '1': { Key: 'of', Value: type } } });
const asked: Params = {
  BlockDeviceMapping: {
    '1': { DeviceName: '/dev/xvda', Ebs: { VolumeSize: '4', VolumeType: 'gp3', DeleteOnTermination: 'false' } },
    '2': { DeviceName: '/dev/xvdb', Ebs: { VolumeSize: '20', VolumeType: 'io2', Iops: '1000', Encrypted: 'true' } },
  },
  NetworkInterface: {
    '1': { DeviceIndex: '0', ConnectionTrackingSpecification: { UdpTimeout: '45' }, AssociatePublicIpAddress: 'true' },
    '2': { DeviceIndex: '1', NetworkCardIndex: '1', InterfaceType: 'efa-only' },
  },
  TagSpecification: { '1': tags('network-interface'), '2': tags('spot-instances-request'), '3': tags('volume') },
};
const tagOf = (each: XmlElement | undefined): string | undefined => textOf(itemsOf(each, 'tagSet')[0], 'value');

describe('resources that the local cloud creates with an instance', () => {
  test('are disks as the launch requested', async () => {
    const { cloud, instance } = await launched(asked);
    const [first, second] = itemsOf(instance, 'blockDeviceMapping');
    expect([textOf(first, 'deviceName'), textOf(first, 'ebs', 'volumeId')]).toEqual(['/dev/xvda', 'vol-1']);
    expect(textOf(first, 'ebs', 'deleteOnTermination')).toBe('false');

    const id = textOf(second, 'ebs', 'volumeId')!;
    const found = await describeVolumes(cloud, { VolumeId: { '1': id } });
    const [volume, ...others] = itemsOf(found, 'volumeSet');
    expect(['size', 'volumeType', 'iops', 'encrypted'].map((name) => textOf(volume, name))).toEqual([
      '20',
      'io2',
      '1000',
      'true',
    ]);
    expect([tagOf(volume), others]).toEqual(['volume', []]);
    const all = itemsOf(await describeVolumes(cloud, {}), 'volumeSet').map((each) => textOf(each, 'volumeId'));
    expect(all).toEqual(['vol-1', 'vol-other', id]);
    await expect(describeVolumes(cloud, { VolumeId: { '1': 'vol-none' } })).rejects.toMatchObject({
      code: 'InvalidVolume.NotFound',
    });
  });

  test('are interfaces as the launch requested', async () => {
    const { cloud, instance } = await launched(asked);
    const ids = itemsOf(instance, 'networkInterfaceSet').map((each) => textOf(each, 'networkInterfaceId')!);
    expect(ids[0]).toBe('eni-1');
    expect(textOf(instance, 'ipAddress')).toMatch(/^54\./);

    const filter = { Name: 'attachment.instance-id', Value: { '1': 'i-1' } };
    const found = itemsOf(await describeNetworkInterfaces(cloud, { Filter: { '1': filter } }), 'networkInterfaceSet');

    expect(found.map((each) => textOf(each, 'networkInterfaceId'))).toEqual(ids);
    expect(found.map((each) => textOf(each, 'interfaceType'))).toEqual(['interface', 'efa-only']);
    expect(found.map((each) => textOf(each, 'attachment', 'networkCardIndex'))).toEqual(['0', '1']);
    expect(found.map((each) => textOf(each, 'connectionTrackingConfiguration', 'udpTimeout'))).toEqual([
      '45',
      undefined,
    ]);
    expect(found.map(tagOf)).toEqual(['network-interface', 'network-interface']);
  });

  test('are a spot request', async () => {
    const { cloud, instance } = await launched(asked);
    const id = textOf(instance, 'spotInstanceRequestId')!;
    const found = await describeSpotInstanceRequests(cloud, { SpotInstanceRequestId: { '1': id } });
    const [request] = itemsOf(found, 'spotInstanceRequestSet');
    expect([textOf(request, 'instanceId'), tagOf(request)]).toEqual(['i-1', 'spot-instances-request']);
  });
});

test("a launch without requests has moto's resources, and a host name of the subnet's kind", async () => {
  const { instance } = await launched({});
  expect(itemsOf(instance, 'blockDeviceMapping')).toHaveLength(1);
  expect(textOf(instance, 'ipAddress')).toBeUndefined();
  expect(textOf(instance, 'privateDnsName')).toBe('ip-172-31-0-5.us-west-2.compute.internal');
  const named = await launched({}, { resource: true });
  expect(textOf(named.instance, 'privateDnsName')).toBe('i-1.us-west-2.compute.internal');
});

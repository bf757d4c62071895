import type { LaunchTemplateBlockDeviceMappingRequest, RequestLaunchTemplateData } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../../api/aws/labels.js';
import { labels } from '../../../api/labels.js';
import { about, differs, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf } from '../world.js';
import { account, launched, outcomeOf, resolved, templatesOf, userDataOf, type Asked, type Given } from './account.js';
import { known } from './machines.js';

const types = ['m5.large', 'm5.xlarge', 'c6g.large'];
/** What the templates of a launch say of something: all of them the same. */
export const saying = (
  given: Given,
  look: (body: RequestLaunchTemplateData) => unknown,
  expected: unknown,
  asked?: Asked,
): Check =>
  gives(async () => {
    const said = (await templatesOf({ types, ...given }, asked)).map((body) => JSON.stringify({ of: look(body) }));
    return [...new Set(said)];
  }, [JSON.stringify({ of: expected })]);

const namesOf = async (given: Given, asked?: Asked): Promise<string[]> =>
  (await launched({ types: ['m5.large'], ...given }, asked)).templates.map((input) => input.LaunchTemplateName ?? '');
/** How many templates these launches make, of which equal ones are one. */
const templates = (expected: number, ...launches: readonly (readonly [Given, Asked?])[]): Check =>
  gives(async () => {
    const made = await Promise.all(launches.map(([given, asked]) => namesOf(given, asked)));
    return new Set(made.flat()).size;
  }, expected);

export const custom = { amiFamily: 'Custom', amiSelectorTerms: [{ tags: { '*': '*' } }] };
export const alias = (name: string): object => ({ amiSelectorTerms: [{ alias: `${name}@latest` }] });
const kubelet = (settings: object): Given => ({ spec: { kubelet: settings } });
const has = (list: readonly { Key?: string; Value?: string }[] | undefined, of: Readonly<Record<string, string>>) =>
  Object.entries(of).every(([key, value]) => list?.some(({ Key, Value }) => Key === key && Value === value));

/** Whether the user data of a family's nodes keeps Stowage from writing taints onto them. */
const syncs = (at: number, family: string, spec: object, expected: boolean): ConformanceCase =>
  same(
    at,
    `the label that leaves taints to the node: ${family}`,
    gives(
      async () => (await userDataOf({ types, spec })).every((text) => text.includes(labels.doNotSyncTaints)),
      expected,
    ),
  );

const named: readonly ConformanceCase[] = about('launch templates are created and reused', [
  syncs(195, 'Custom', custom, false),
  ...(['al2', 'al2023', 'bottlerocket', 'windows2022'] as const).map((family, i) =>
    syncs(200 + 6 * i, family, alias(family), true),
  ),
  same(223, 'equal node classes have separate templates', templates(2, [{}], [{ nodeClassName: 'other' }])),
  same(
    312,
    'every template of a launch is used in its latest version with encrypted disks',
    gives(async () => {
      const { templates: made, fleets } = await launched({ types });
      const used = fleets.flatMap(({ LaunchTemplateConfigs: configs = [] }) =>
        configs.map(({ LaunchTemplateSpecification: of }) => [of?.LaunchTemplateName, of?.Version]),
      );
      return [
        JSON.stringify(used.sort()) ===
          JSON.stringify(made.map(({ LaunchTemplateName }) => [LaunchTemplateName, '$Latest']).sort()),
        made.length,
        made.every(({ LaunchTemplateData: body }) => body?.BlockDeviceMappings?.[0]?.Ebs?.Encrypted === true),
      ];
    }, [true, 3, true]),
  ),
  same(
    331,
    'no launch without an instance profile',
    gives(() => outcomeOf(account({ types, status: { instanceProfile: undefined } }).launch()), 'LaunchFailed'),
  ),
  same(
    339,
    'the instance profile of the node class is used',
    saying({ status: { instanceProfile: 'own-profile' } }, (body) => body.IamInstanceProfile, { Name: 'own-profile' }),
  ),
  same(
    353,
    'equal launches share their templates',
    templates(1, [{ types: ['g4dn.8xlarge'] }], [{ types: ['g4dn.8xlarge'] }]),
  ),
  same(
    422,
    'a template deleted by hand is created again',
    gives(async () => {
      let calls = 0;
      const missing = { ErrorCode: 'InvalidLaunchTemplateName.NotFoundException', ErrorMessage: 'gone' };
      const world = account({
        types: ['m5.large'],
        calls: {
          createFleet: () => {
            calls += 1;
            const Overrides = { InstanceType: 'm5.large', AvailabilityZone: 'test-zone-1', SubnetId: 'subnet-1' };
            const made = [{ InstanceIds: ['i-1'], LaunchTemplateAndOverrides: { Overrides } }];
            return Promise.resolve(calls === 1 ? { Errors: [missing] } : { Instances: made });
          },
        },
      });
      return [await outcomeOf(world.launch()), calls, world.sent.templates.length];
    }, ['m5.large', 2, 2]),
  ),
]);

const cluster = (options: object): Given => ({ options });
const contents: readonly ConformanceCase[] = about('launch templates differ by content', [
  same(
    449,
    'by what user data has of cluster and node class',
    templates(
      10,
      ...[
        {},
        cluster({ clusterName: 'other' }),
        cluster({ clusterEndpoint: 'https://other' }),
        cluster({ serviceCidr: '10.9.0.0/16' }),
        { status: { instanceProfile: 'other' } },
        { spec: { instanceStorePolicy: 'RAID0' } },
        { status: { securityGroups: [{ id: 'sg-9' }] } },
        { spec: { tags: { key: 'value' } } },
        cluster({ clusterDns: () => Promise.resolve('192.0.0.2') }),
        { spec: { associatePublicIPAddress: true } },
      ].map((given) => [given] as const),
    ),
  ),
  differs(
    471,
    'by CA bundle and by labels',
    'launch-templates/identity',
    'user data holds both, and a template is named by all that it holds',
    templates(3, [{}], [cluster({ caBundle: 'b3RoZXI=' })], [{}, { labels: { team: 'blue' } }]),
  ),
  same(
    485,
    'by kubelet settings',
    templates(
      6,
      ...[
        {},
        { kubeReserved: { cpu: '20m' } },
        { systemReserved: { memory: '1Gi' } },
        { evictionHard: { 'memory.available': '52%' } },
        { evictionSoft: { 'nodefs.available': '32%' }, evictionSoftGracePeriod: { 'nodefs.available': '1m' } },
        { maxPods: 20 },
      ].map((settings) => [kubelet(settings)] as const),
    ),
  ),
  same(
    502,
    'not by notation of quantities, and by passed-through settings',
    templates(3, [kubelet({ maxPods: 12 })], [kubelet({ maxPods: 21 })], [kubelet({ registryPullQPS: 5 })]),
  ),
  same(
    518,
    'by the content of user data',
    templates(
      4,
      [{}],
      [{}, { taints: [{ key: 'key', value: 'value', effect: 'NoSchedule' }] }],
      [{}, { labels: { team: 'blue' } }],
      [{ spec: { userData: '#!/bin/sh' } }],
    ),
  ),
  same(
    538,
    'by everything else that a launch decides',
    templates(
      6,
      [{}],
      [{ spec: { blockDeviceMappings: [{ deviceName: '/dev/xvda', ebs: { volumeSize: '30Gi' } }] } }],
      [{ status: { amis: [{ ...resolved.amis[0], id: 'ami-other' }] } }],
      [{ spec: { detailedMonitoring: true } }],
      [{}, { capacityTypes: ['spot'] }],
      [
        { types: [{ ...known('m5.large'), NitroEnclavesSupport: 'supported' }] },
        {
          requests: { 'eks.amazonaws.com/nitro-sandbox': '1' },
          overlaid: (all) =>
            all.map((each) => ({ ...each, capacity: { ...each.capacity, 'eks.amazonaws.com/nitro-sandbox': 1 } })),
        },
      ],
    ),
  ),
  same(
    555,
    'not by types that need the same',
    templates(1, [kubelet({ maxPods: 5 })], [{ ...kubelet({ maxPods: 5 }), types: ['t3.large'] }]),
  ),
]);

const owned = { tag1: 'tag1value', tag2: 'tag2value' };
const ofLaunch = (given: Readonly<Record<string, string>>): Check =>
  gives(
    async () => {
      const { fleets } = await launched({ types, spec: { tags: given } });
      return fleets[0]?.TagSpecifications?.map(({ ResourceType, Tags }) => [ResourceType, has(Tags, given)]);
    },
    ['instance', 'volume', 'fleet'].map((kind) => [kind, true]),
  );

const tags: readonly ConformanceCase[] = about('tags and labels in launch templates', [
  same(
    569,
    'labels of operating system, architecture and type',
    gives(async () => {
      const { instance } = await launched({ types });
      return [labels.os, labels.arch, labels.instanceType].every((key) => instance.labels[key] !== undefined);
    }, true),
  ),
  same(580, 'tags of instances, volumes and fleets', ofLaunch(owned)),
  same(
    603,
    'tags of network interfaces and spot requests',
    saying(
      { spec: { tags: owned } },
      (body) => body.TagSpecifications?.map(({ ResourceType, Tags }) => [ResourceType, has(Tags, owned)]),
      [
        ['network-interface', true],
        ['spot-instances-request', true],
      ],
      { capacityTypes: ['spot'] },
    ),
  ),
  same(630, 'the Name tag of the node class', ofLaunch({ Name: 'myname' })),
]);

type Disk = readonly [device: string | undefined, gib: number | undefined, type: string | undefined];
const disk = ({ DeviceName, Ebs }: LaunchTemplateBlockDeviceMappingRequest): Disk => [
  DeviceName,
  Ebs?.VolumeSize,
  Ebs?.VolumeType,
];
const disks = (at: number, title: string, spec: object, expected: readonly Disk[]): ConformanceCase =>
  same(
    at,
    title,
    saying({ spec }, (body) => body.BlockDeviceMappings?.map(disk), expected),
  );
const io2 = {
  ...{ deleteOnTermination: true, encrypted: true, volumeType: 'io2', iops: 10_000 },
  kmsKeyID: 'arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
};
const mapped = (...sizes: readonly string[]): object => ({
  blockDeviceMappings: sizes.map((volumeSize, i) => ({
    deviceName: `/dev/xvd${'ab'[i]!}`,
    ebs: { ...io2, volumeSize },
  })),
});
const asGiven = (VolumeSize: number): object => ({
  ...{ DeleteOnTermination: true, Encrypted: true, VolumeType: 'io2', Iops: 10_000, KmsKeyId: io2.kmsKeyID },
  VolumeSize,
});

const blockDevices: readonly ConformanceCase[] = about('block devices in launch templates', [
  disks(655, 'the disk of AL2', alias('al2'), [['/dev/xvda', 20, 'gp3']]),
  disks(669, 'the disk of AL2023', alias('al2023'), [['/dev/xvda', 20, 'gp3']]),
  same(
    683,
    'disks of the node class, in whole GiB',
    saying({ spec: mapped('200G', '200Gi') }, (body) => body.BlockDeviceMappings?.map(({ Ebs }) => Ebs), [
      asGiven(187),
      asGiven(200),
    ]),
  ),
  disks(732, 'sizes are rounded up to GiB', mapped('4G', '2G'), [
    ['/dev/xvda', 4, 'io2'],
    ['/dev/xvdb', 2, 'io2'],
  ]),
  disks(768, 'the two disks of Bottlerocket', alias('bottlerocket'), [
    ['/dev/xvda', 4, 'gp3'],
    ['/dev/xvdb', 20, 'gp3'],
  ]),
  disks(787, 'Custom has no disk by default', custom, []),
  same(
    799,
    'Custom has those of the node class',
    saying({ spec: { ...custom, ...mapped('40Gi') } }, (body) => body.BlockDeviceMappings?.map(({ Ebs }) => Ebs), [
      asGiven(40),
    ]),
  ),
]);

const monitoring = (at: number, title: string, spec: object, expected: boolean): ConformanceCase =>
  same(
    at,
    title,
    saying({ spec }, (body) => body.Monitoring?.Enabled, expected),
  );
const usualMetadata = {
  ...{ HttpEndpoint: 'enabled', HttpProtocolIpv6: 'disabled', HttpPutResponseHopLimit: 1, HttpTokens: 'required' },
  InstanceMetadataTags: 'disabled',
};
const enclaves = { requests: { 'eks.amazonaws.com/nitro-sandbox': '1' } };
const tenancy = (at: number, title: string, value: string | undefined, expected: string): ConformanceCase =>
  same(
    at,
    title,
    saying({}, (body) => body.Placement?.Tenancy ?? 'default', expected, {
      needs: value === undefined ? [] : [oneOf(awsLabels.instanceTenancy, value)],
    }),
  );
const nesting = (
  at: number | [number, number],
  title: string,
  spec: object,
  expected: string | undefined,
): ConformanceCase =>
  same(
    at,
    title,
    saying(
      { types: [{ ...known('m5.large'), ProcessorInfo: nested }], spec },
      (body) => body.CpuOptions?.NestedVirtualization,
      expected,
    ),
  );
const nested = { ...known('m5.large').ProcessorInfo, SupportedFeatures: ['nested-virtualization'] as never };

const others: readonly ConformanceCase[] = about('other fields of launch templates', [
  monitoring(2732, 'no detailed monitoring', {}, false),
  monitoring(2742, 'detailed monitoring', { detailedMonitoring: true }, true),
  same(
    2755,
    'no enclaves',
    saying({}, (body) => body.EnclaveOptions?.Enabled ?? false, false),
  ),
  same(
    2765,
    'enclaves where pods request them',
    saying(
      { types: [{ ...known('m5.large'), NitroEnclavesSupport: 'supported' }] },
      (body) => body.EnclaveOptions?.Enabled,
      true,
      {
        ...enclaves,
        overlaid: (all) =>
          all.map((each) => ({ ...each, capacity: { ...each.capacity, 'eks.amazonaws.com/nitro-sandbox': 1 } })),
      },
    ),
  ),
  same(
    [2799, 2812],
    'instance metadata options',
    saying({}, (body) => body.MetadataOptions, usualMetadata),
  ),
  tenancy(3076, 'default tenancy', undefined, 'default'),
  tenancy(3077, 'default tenancy that is requested', 'default', 'default'),
  tenancy(3078, 'dedicated tenancy', 'dedicated', 'dedicated'),
]);

/** pkg/providers/launchtemplate/suite_test.go, what is neither user data, interfaces nor reservations. */
export const launchTemplateCases: readonly ConformanceCase[] = [
  ...named,
  ...contents,
  ...tags,
  ...blockDevices,
  ...others,
];

/** pkg/providers/launchtemplate/cpuoptions_test.go */
export const cpuOptionCases: readonly ConformanceCase[] = about('CPU options in launch templates', [
  nesting([27, 30], 'no CPU options', {}, undefined),
  nesting(33, 'nested virtualization', { cpuOptions: { nestedVirtualization: 'enabled' } }, 'enabled'),
  nesting(38, 'nested virtualization disabled', { cpuOptions: { nestedVirtualization: 'disabled' } }, 'disabled'),
]);

import type { DescribeImagesCommandInput, Image } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../../api/aws/labels.js';
import type { EC2NodeClassStatus, ResolvedAmi } from '../../../api/aws/ec2-node-class.js';
import { labels } from '../../../api/labels.js';
import type { NodeSelectorRequirement } from '../../../api/kubernetes.js';
import { conditionOf } from '../../../core/conditions.js';
import { passes, tagValues } from '../../../tools/stack/cloud-proxy/filters.js';
import { refusal } from '../../builders/aws-world.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf, op } from '../world.js';
import { account, launched, now, outcomeOf, templatesOf, type Given } from './account.js';
import { machine } from './machines.js';

const image = (name: string, of: Partial<Image> = {}): Image => ({
  ...{ ImageId: `ami-${name}`, Name: name, State: 'available', CreationDate: '2026-01-01T00:00:00Z' },
  Architecture: name.startsWith('arm64') ? 'arm64' : 'x86_64',
  Tags: [
    { Key: 'Name', Value: name },
    { Key: 'foo', Value: 'bar' },
  ],
  ...of,
});
const usual = ['amd64', 'amd64-nvidia', 'amd64-neuron', 'arm64', 'arm64-nvidia'].map((name) => image(name));

interface There {
  readonly images?: readonly Image[];
  /** By the names of parameters, names of images. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly failure?: Error;
  readonly version?: string;
}
interface Found {
  readonly amis: readonly ResolvedAmi[];
  readonly condition: string;
  readonly asked: readonly DescribeImagesCommandInput[];
}

const valuesOf =
  ({ ImageId = '', Name = '', Tags = [] }: Image) =>
  (filter: string): readonly string[] | undefined =>
    filter === 'image-id'
      ? [ImageId]
      : filter === 'name'
        ? [Name]
        : tagValues(filter, new Map(Tags.map(({ Key = '', Value = '' }) => [Key, Value])));

/** The images of a node class that selects by these terms, at a time. */
function finder(terms: readonly object[], { images = usual, parameters = {}, failure, version = '1.32' }: There) {
  const asked: DescribeImagesCommandInput[] = [];
  const given: Given = {
    types: ['m5.large'],
    options: { disableDryRun: true, kubernetesVersion: () => Promise.resolve(version) },
    calls: {
      describeImages: (input: DescribeImagesCommandInput) => {
        asked.push(input);
        if (failure !== undefined) return Promise.reject(failure);
        const filters = new Map((input.Filters ?? []).map(({ Name = '', Values = [] }) => [Name, Values]));
        return Promise.resolve({ Images: images.filter((each) => passes(filters, valuesOf(each))) });
      },
      getParameter: (name: string) => {
        const found = parameters[name];
        if (found !== undefined) return Promise.resolve({ Parameter: { Value: `ami-${found}` } });
        return Promise.reject(failure ?? refusal('ParameterNotFound', 'words', 'ssm:GetParameter'));
      },
    },
  };
  const { provider, nodeClass, clock } = account(given);
  const spec = { ...nodeClass.spec, amiFamily: undefined, amiSelectorTerms: terms } as unknown as typeof nodeClass.spec;
  const find = async (): Promise<Found> => {
    const { status } = await provider.resolveNodeClass({ ...nodeClass, spec, status: {} });
    const { amis = [], conditions } = status as EC2NodeClassStatus;
    const { status: held, reason } = conditionOf(conditions, 'AMIsReady') ?? {};
    return { amis, condition: held === 'True' ? 'True' : `${held ?? ''}/${reason ?? ''}`, asked };
  };
  return { find, clock };
}
const finds = (terms: readonly object[], there: There, look: (found: Found) => unknown, expected: unknown): Check =>
  gives(async () => look(await finder(terms, there).find()), expected);
const names = ({ amis }: Found): readonly (string | undefined)[] => amis.map(({ name }) => name);

const plain = [op(awsLabels.instanceGpuCount, 'DoesNotExist'), op(awsLabels.instanceAcceleratorCount, 'DoesNotExist')];
const gpu = [op(awsLabels.instanceGpuCount, 'Exists')];
const accelerator = [op(awsLabels.instanceAcceleratorCount, 'Exists')];
const amd = oneOf(labels.arch, 'amd64');
const arm = oneOf(labels.arch, 'arm64');
type Row = readonly [name: string, ...requirements: readonly NodeSelectorRequirement[]];
const eks = '/aws/service/eks/optimized-ami/1.32';
const al2023 = Object.fromEntries(
  ['x86_64/standard', 'x86_64/nvidia', 'x86_64/neuron', 'arm64/standard', 'arm64/nvidia'].map((path, i) => [
    `${eks}/amazon-linux-2023/${path}/recommended/image_id`,
    usual[i]!.Name!,
  ]),
);
const al2 = {
  [`${eks}/amazon-linux-2/recommended/image_id`]: 'amd64',
  [`${eks}/amazon-linux-2-gpu/recommended/image_id`]: 'amd64-nvidia',
  [`${eks}/amazon-linux-2-arm64/recommended/image_id`]: 'arm64',
};
const rocket = '/aws/service/bottlerocket/aws-k8s-1.32';
const bottlerocket = {
  [`${rocket}/x86_64/latest/image_id`]: 'amd64',
  [`${rocket}/arm64/latest/image_id`]: 'arm64',
  [`${rocket}-nvidia/x86_64/latest/image_id`]: 'amd64-nvidia',
  [`${rocket}-nvidia/arm64/latest/image_id`]: 'arm64-nvidia',
};
const windows = (year: number, version = '1.32'): Readonly<Record<string, string>> => ({
  [`/aws/service/ami-windows-latest/Windows_Server-${year}-English-Core-EKS_Optimized-${version}/image_id`]: 'amd64',
});
const without = (from: Readonly<Record<string, string>>, ...parts: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(from).filter(([key]) => !parts.some((part) => key.includes(part))));

const textOf = (requirements: readonly NodeSelectorRequirement[]): readonly string[] =>
  requirements.map(({ key, operator, values = [] }) => `${key} ${operator} ${values.join()}`).sort();
/** The images of an alias, each with what it demands of types. */
const alias = (at: number, of: string, there: There, rows: readonly Row[]): ConformanceCase =>
  same(
    at,
    `alias ${of}`,
    finds(
      [{ alias: `${of}@latest` }],
      there,
      ({ amis, condition }) => [
        amis.map(({ name, requirements }) => JSON.stringify([name, textOf(requirements)])).sort(),
        condition,
      ],
      [rows.map(([name, ...requirements]) => JSON.stringify([name, textOf(requirements)])).sort(), 'True'],
    ),
  );
const system = (build: string): readonly NodeSelectorRequirement[] => [
  amd,
  oneOf(labels.os, 'windows'),
  oneOf(labels.windowsBuild, build),
];
const rockets: readonly Row[] = [
  ['amd64', amd, ...plain],
  ['amd64', amd, ...accelerator],
  ['arm64', arm, ...plain],
];
const ending = image('test-3', { DeprecationTime: new Date(now + 30 * 60_000).toISOString() });
const marks = ({ amis, condition }: Found): unknown => [
  amis.map(({ name, deprecated = false }) => [name, deprecated]),
  condition,
];
const anyTag = [{ tags: { foo: '*' } }];

/** pkg/controllers/nodeclass/ami_test.go */
export const imageStatusCases: readonly ConformanceCase[] = about('images in the status of a node class', [
  alias(135, 'al2023', { parameters: al2023 }, [
    ['amd64', amd, ...plain],
    ['amd64-nvidia', amd, ...gpu],
    ['amd64-neuron', amd, ...accelerator],
    ['arm64', arm, ...plain],
    ['arm64-nvidia', arm, ...gpu],
  ]),
  alias(236, 'al2', { parameters: al2 }, [
    ['amd64', amd, ...plain],
    ['amd64-nvidia', amd, ...gpu],
    ['amd64-nvidia', amd, ...accelerator],
    ['arm64', arm, ...plain],
  ]),
  alias(324, 'bottlerocket', { parameters: bottlerocket }, [
    ...rockets,
    ['amd64-nvidia', amd, ...gpu],
    ['arm64-nvidia', arm, ...gpu],
  ]),
  alias(425, 'windows2019', { parameters: windows(2019) }, [['amd64', ...system('10.0.17763')]]),
  alias(460, 'windows2022', { parameters: windows(2022) }, [['amd64', ...system('10.0.20348')]]),
  alias(495, 'windows2025', { parameters: windows(2025, '1.35'), version: '1.35' }, [
    ['amd64', ...system('10.0.26100')],
  ]),
  same(
    536,
    'an alias with missing parameters has the others',
    finds(
      [{ alias: 'bottlerocket@latest' }],
      { parameters: without(bottlerocket, 'nvidia') },
      ({ amis, condition }) => [amis.length, condition],
      [3, 'True'],
    ),
  ),
  same(
    592,
    'the newest selected image is listed',
    finds(
      [{ tags: { Name: 'amd64' } }],
      { images: [...usual, image('amd64-new', { Tags: usual[0]!.Tags, CreationDate: '2026-02-01T00:00:00Z' })] },
      ({ amis, condition }) => [amis.map(({ name, requirements }) => [name, requirements]), condition],
      [[['amd64-new', [amd]]], 'True'],
    ),
  ),
  same(
    614,
    'without images the node class is not Ready',
    finds(
      anyTag,
      { failure: refusal('SomeError', 'unable to resolve AMI', 'ec2:DescribeImages') },
      ({ condition }) => condition.split('/')[0],
      'False',
    ),
  ),
  same(
    658,
    'an image deprecated meanwhile is replaced',
    gives(async () => {
      const { find, clock } = finder(anyTag, { images: [ending, image('arm64')] });
      const before = marks(await find());
      clock.time += 40 * 60_000;
      return [before, marks(await find())];
    }, [
      [
        [
          ['test-3', false],
          ['arm64', false],
        ],
        'True',
      ],
      [
        [
          ['arm64', false],
          ['test-3', true],
        ],
        'True',
      ],
    ]),
  ),
  same(
    729,
    'images removed later are dropped',
    gives(async () => {
      const images = [image('test-3', { DeprecationTime: new Date(now - 60_000).toISOString() })];
      const { find } = finder(anyTag, { images });
      const before = marks(await find());
      images.push(image('test-4'));
      return [before, marks(await find())];
    }, [
      [[['test-3', true]], 'True'],
      [[['test-4', false]], 'True'],
    ]),
  ),
]);

const unsupported = (at: number, version: string, of: string, expected: boolean): ConformanceCase =>
  same(
    at,
    `${of} on Kubernetes ${version}`,
    finds(
      [{ alias: `${of}@latest` }],
      { version, parameters: {} },
      ({ condition }) => condition === 'False/UnsupportedAlias',
      expected,
    ),
  );
const resolves = (at: number, title: string, of: string, there: There, count: number): ConformanceCase =>
  same(
    at,
    title,
    finds([{ alias: `${of}@latest` }], there, ({ amis }) => amis.length, count),
  );

const aliasCases: readonly ConformanceCase[] = about('AMI aliases', [
  unsupported(181, '1.33', 'al2', true),
  unsupported(182, '1.34', 'al2', true),
  unsupported(183, '1.32', 'al2', false),
  unsupported(184, '1.33', 'al2023', false),
  resolves(187, 'al2', 'al2', { parameters: al2 }, 4),
  resolves(201, 'al2023', 'al2023', { parameters: without(al2023, 'nvidia', 'neuron') }, 2),
  resolves(211, 'bottlerocket', 'bottlerocket', { parameters: bottlerocket }, 5),
  resolves(223, 'windows2019', 'windows2019', { parameters: windows(2019) }, 1),
  resolves(232, 'windows2022', 'windows2022', { parameters: windows(2022) }, 1),
  resolves(241, 'windows2025', 'windows2025', { parameters: windows(2025, '1.35'), version: '1.35' }, 1),
  unsupported(256, '1.34', 'windows2025', true),
  same(
    267,
    'parallel requests share a call',
    gives(async () => {
      const { find } = finder([{ id: 'ami-amd64' }, { id: 'ami-arm64' }], {});
      const all = await Promise.all(Array.from({ length: 20 }, () => find()));
      return [...new Set(all.map((found) => JSON.stringify([...names(found)].sort())))];
    }, ['["amd64","arm64"]']),
  ),
  same(
    [],
    'a missing parameter leaves its image out',
    finds(anyTag, { images: [image('amd64'), image('arm64', { State: 'failed' })] }, names, ['amd64']),
  ),
  resolves(348, 'al2 without GPUs', 'al2', { parameters: without(al2, 'gpu') }, 2),
  resolves(
    363,
    'al2023 of one architecture',
    'al2023',
    { parameters: without(al2023, 'arm64', 'nvidia', 'neuron') },
    1,
  ),
  resolves(
    372,
    'bottlerocket without GPUs for arm64',
    'bottlerocket',
    { parameters: without(bottlerocket, '-nvidia/arm64') },
    4,
  ),
  same(
    408,
    'tags of an image are no requirements',
    finds(
      anyTag,
      {
        images: [
          image('amd64', {
            Tags: [
              { Key: 'foo', Value: 'bar' },
              { Key: labels.instanceType, Value: 'm5.large' },
            ],
          }),
        ],
      },
      ({ amis }) => amis.map(({ requirements }) => requirements),
      [[amd]],
    ),
  ),
]);

const dated = (name: string, CreationDate: string, deprecatedIn?: number, id = name): Image =>
  image(name, {
    ...{ CreationDate, ImageId: `ami-${id}` },
    ...(deprecatedIn !== undefined && { DeprecationTime: new Date(now + deprecatedIn * 60_000).toISOString() }),
  });
/** Which of several images for the same types is used, in any order of EC2's list. */
const prefers = (at: number, title: string, images: readonly Image[], expected: string): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const orders = [images, [...images].reverse()];
      const found = await Promise.all(orders.map((all) => finder(anyTag, { images: all }).find()));
      return found.map(({ amis }) => amis.map(({ id }) => id));
    }, [[expected], [expected]]),
  );
const [earlier, later] = ['2020-08-31T00:08:42.000Z', '2021-08-31T00:12:42.000Z'];
const orderCases: readonly ConformanceCase[] = about('which of several images is used', [
  prefers(437, 'an older image that is not deprecated', [dated('a', later, -60), dated('b', earlier)], 'ami-b'),
  prefers(479, 'one that is not deprecated yet', [dated('a', later, -10, '1'), dated('a', later, 10, '2')], 'ami-2'),
  prefers(523, 'the newest, not the first by name', [dated('b', later, -10), dated('a', later, 10)], 'ami-a'),
  prefers(567, 'the newer of two deprecated ones', [dated('a', later, -60), dated('b', earlier, -60)], 'ami-a'),
  prefers(
    959,
    'the newest',
    [1, 2, 3, 4].map((i) => dated(`a${i}`, `2021-08-31T00:1${i}:42.000Z`)),
    'ami-a4',
  ),
  prefers(
    1016,
    'always the same of equal ones',
    [4, 3, 2, 1].map((i) => dated('a', later, undefined, `${i}`)),
    'ami-1',
  ),
  prefers(
    1074,
    'always the same of equal deprecated ones',
    [4, 3, 2, 1].map((i) => dated('a', later, -60, `${i}`)),
    'ami-1',
  ),
]);

const keyed = (name: string, ...keys: readonly number[]): Image =>
  image(name, { Tags: keys.map((key) => ({ Key: `tag-key-${key}`, Value: `tag-value-${key}` })) });
const tagsOf = (...keys: readonly number[]): object => ({
  tags: Object.fromEntries(keys.map((key) => [`tag-key-${key}`, `tag-value-${key}`])),
});
/** What EC2 is asked by these terms. */
const asks = (at: number, title: string, terms: readonly object[], expected: readonly object[]): ConformanceCase =>
  same(
    at,
    title,
    finds(
      terms,
      {},
      ({ asked }) => asked.map(({ Owners, Filters }) => ({ ...(Owners && { Owners: [...Owners].sort() }), Filters })),
      expected,
    ),
  );
const filter = (Name: string, ...Values: readonly string[]): object => ({ Name, Values });
const parameter = '/my/custom/ami/parameter';

const termCases: readonly ConformanceCase[] = about('AMI selector terms', [
  same(
    612,
    'select by id',
    finds([{ id: 'ami-amd64' }, { id: 'ami-arm64' }], {}, (all) => [...names(all)].sort(), ['amd64', 'arm64']),
  ),
  same(
    653,
    'select by name',
    finds([{ name: 'amd64' }, { name: 'arm64' }], {}, (all) => [...names(all)].sort(), ['amd64', 'arm64']),
  ),
  same(
    694,
    'select by tags',
    finds([{ tags: { foo: 'bar' } }], { images: [image('amd64'), image('arm64')] }, (all) => [...names(all)].sort(), [
      'amd64',
      'arm64',
    ]),
  ),
  same(
    732,
    'need all tags of one term, of any term',
    gives(async () => {
      const images = [keyed('amd64-1', 1), keyed('arm64-2', 2), keyed('amd64-3', 1, 2)];
      const both = await finder([tagsOf(1, 2)], { images }).find();
      const either = await finder([tagsOf(1), tagsOf(2)], { images: images.slice(0, 2) }).find();
      return [names(both), [...names(either)].sort()];
    }, [['amd64-3'], ['amd64-1', 'arm64-2']]),
  ),
  asks(
    827,
    'tags, without a filter by owner',
    [{ tags: { Name: 'my-ami' } }],
    [{ Filters: [filter('tag:Name', 'my-ami')] }],
  ),
  asks(
    850,
    "a name among one's own images and Amazon's",
    [{ name: 'my-ami' }],
    [{ Owners: ['amazon', 'self'], Filters: [filter('name', 'my-ami')] }],
  ),
  asks(
    874,
    'ids, without a filter by owner',
    [{ id: 'ami-abcd1234' }, { id: 'ami-cafeaced' }],
    [{ Filters: [filter('image-id', 'ami-abcd1234')] }, { Filters: [filter('image-id', 'ami-cafeaced')] }],
  ),
  asks(
    899,
    'owners alone',
    [{ owner: 'abcdef' }, { owner: '123456789012' }],
    [
      { Owners: ['abcdef'], Filters: [] },
      { Owners: ['123456789012'], Filters: [] },
    ],
  ),
  asks(
    922,
    'a name of an owner',
    [
      { name: 'my-name', owner: '0123456789' },
      { name: 'my-name', owner: 'self' },
    ],
    ['0123456789', 'self'].map((owner) => ({ Owners: [owner], Filters: [filter('name', 'my-name')] })),
  ),
  same(
    1140,
    'an AWS-owned SSM parameter',
    finds(
      [{ ssmParameter: Object.keys(al2)[0] }],
      { parameters: al2 },
      ({ amis }) => amis.map(({ id, name }) => [id, name]),
      [['ami-amd64', 'amd64']],
    ),
  ),
  same(
    1153,
    'a customer-owned SSM parameter',
    finds([{ ssmParameter: parameter }], { parameters: { [parameter]: 'amd64' } }, names, ['amd64']),
  ),
  same(
    1167,
    'an SSM parameter that does not exist',
    finds([{ ssmParameter: parameter }], {}, ({ condition }) => condition, 'False/AMINotFound'),
  ),
  same(
    1176,
    'an SSM parameter that cannot be read',
    finds(
      [{ ssmParameter: parameter }],
      { failure: refusal('SomeError', 'words', 'ssm:GetParameter') },
      ({ amis, condition }) => [amis, condition],
      [[], 'False/ResolutionFailed'],
    ),
  ),
]);

const ipv6 = (at: number, region: string, expected: string | undefined): ConformanceCase =>
  same(
    at,
    `metadata over IPv6 in ${region}`,
    gives(
      async () =>
        (await templatesOf({ types: ['m5.large'], options: { region } })).map(
          ({ MetadataOptions }) => MetadataOptions?.HttpProtocolIpv6,
        ),
      [expected],
    ),
  );
const sandbox = 'eks.amazonaws.com/nitro-sandbox';
const enclaves = (
  at: number,
  title: string,
  requests: Readonly<Record<string, string>>,
  expected: boolean,
): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const { templates } = await launched(
        { types: [{ ...machine('m5.large'), NitroEnclavesSupport: 'supported' }] },
        {
          requests,
          overlaid: (all) => all.map((type) => ({ ...type, capacity: { ...type.capacity, [sandbox]: 1 } })),
        },
      );
      return templates.map(({ LaunchTemplateData: body }) => body?.EnclaveOptions?.Enabled ?? false);
    }, [expected]),
  );
const templateCases: readonly ConformanceCase[] = about('launch templates by image family and region', [
  ipv6(1235, 'us-west-2', 'disabled'),
  ipv6(1236, 'us-iso-east-1', undefined),
  ipv6(1237, 'us-isob-east-1', undefined),
  ipv6(1238, 'us-isof-south-1', undefined),
  same(
    1240,
    'no kubelet settings',
    gives(async () => {
      const world = account({ types: ['m5.large'] });
      Object.assign(world.nodeClass.spec, { kubelet: { clusterDNS: '10.0.0.10' } });
      const { status } = await world.provider.resolveNodeClass(world.nodeClass);
      Object.assign(world.nodeClass, { status });
      return outcomeOf(world.launch());
    }, 'NodeClassNotReady'),
  ),
  enclaves(1251, 'no enclaves', {}, false),
  enclaves(1260, 'enclaves that pods request', { [sandbox]: '1' }, true),
  enclaves(1272, 'no enclaves for other resources', { cpu: '1', memory: '1Gi' }, false),
]);

/** pkg/providers/amifamily/suite_test.go */
export const imageCases: readonly ConformanceCase[] = [...aliasCases, ...orderCases, ...termCases, ...templateCases];

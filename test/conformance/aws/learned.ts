import { parse as parseToml } from 'smol-toml';
import { labels } from '../../../api/labels.js';
import { isDomainError } from '../../../core/failures.js';
import type { InstanceType } from '../../../core/instance-type.js';
import { readMime, writeMime } from '../../../cloud/aws/user-data/mime.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { all, zone2 } from '../world.js';
import { account, resolved, userDataOf, type Given } from './account.js';

const gib = 2 ** 30;
/** Names of the types that there are, each with its zones, or whether the reading failed for a while. */
const offered = (given: Given, expected: unknown): Check =>
  gives(async () => {
    try {
      const zoneOf = ({ requirements }: InstanceType): unknown =>
        requirements.find(({ key }) => key === labels.zone)?.values;
      return (await account(given).types()).map((type) => [type.name, zoneOf(type)]);
    } catch (error) {
      return isDomainError(error, 'Unavailable');
    }
  }, expected);
const none = { describeInstanceTypes: () => Promise.resolve({}) };
const nowhere = { describeInstanceTypeOfferings: () => Promise.resolve({}) };

/** pkg/controllers/providers/instancetype/suite_test.go */
export const typeControllerCases: readonly ConformanceCase[] = about('reading instance types', [
  same(
    82,
    'gives the types that EC2 lists',
    offered({ types: ['c6g.large', 'm5.large'] }, [
      ['c6g.large', [...all]],
      ['m5.large', [...all]],
    ]),
  ),
  same(
    118,
    'gives the zones where EC2 offers them',
    offered({ types: ['m5.large'], soldIn: [zone2] }, [['m5.large', [zone2]]]),
  ),
  same(160, 'fails where EC2 lists no types', offered({ types: ['m5.large'], calls: none }, true)),
  same(167, 'fails where EC2 lists no zones', offered({ types: ['m5.large'], calls: nowhere }, true)),
]);

/** Memory of m5.large in GiB, of nodes with these images, once one with an image was seen to have 4 GiB. */
const learned = (images: readonly string[], seen: string, expected: boolean): Check =>
  gives(async () => {
    const amis = images.map((id) => ({ ...resolved.amis[id.endsWith('arm64') ? 1 : 0], id, name: id }));
    const world = account({ types: ['m5.large'], status: { amis } });
    const before = (await world.types())[0]?.capacity['memory'] ?? 0;
    const observed = { instanceType: 'm5.large', imageId: seen, nodeClassHash: '', expected: {} };
    world.provider.learnCapacity({ ...observed, capacity: { memory: 4 * gib } });
    const after = (await world.types())[0]?.capacity['memory'] ?? 0;
    return [before > 4 * gib, after === 4 * gib, after === before];
  }, [true, expected, !expected]);

/** pkg/controllers/providers/instancetype/capacity/suite_test.go */
export const learnedCapacityCases: readonly ConformanceCase[] = about('memory learned from nodes', [
  same(185, 'is that of a registered node', learned(['ami-1'], 'ami-1', true)),
  same(195, 'is not used for another image', learned(['ami-new'], 'ami-1', false)),
  same(
    215,
    "is used for the node's image, though the node class has others first",
    learned(['ami-arm64', 'ami-1'], 'ami-1', true),
  ),
]);

const alias = { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] };
const reserved = 'memory-manager-reserved-memory';
const toml = (...nodes: readonly (readonly string[])[]): string =>
  [
    '[settings.kubernetes]\n"memory-manager-policy" = "Static"',
    ...nodes.map((lines, i) => [`[settings.kubernetes.${reserved}.${i}]`, 'enabled = true', ...lines].join('\n')),
  ].join('\n\n');
/** What the node's settings say of the memory manager. */
const keeps = (text: string, expected: object): Check =>
  gives(async () => {
    const [userData = ''] = await userDataOf({ types: ['m5.large'], spec: { ...alias, userData: text } });
    const { settings } = parseToml(userData) as { settings?: { kubernetes?: Record<string, unknown> } };
    return [settings?.kubernetes?.['memory-manager-policy'], settings?.kubernetes?.[reserved]];
  }, ['Static', expected]);
const one = { 0: { enabled: true, memory: '727Mi' } };

/** pkg/providers/amifamily/bootstrap/bottlerocket_test.go */
export const memoryManagerCases: readonly ConformanceCase[] = about('reserved memory in Bottlerocket settings', [
  notApplicable(34, 'a field of a structure', 'whether Bottlerocket binds by itself depends on its version'),
  same([44, 82], 'memory of pods', keeps(toml(['memory = "727Mi"']), one)),
  same(
    62,
    'huge pages',
    keeps(toml(['memory = "727Mi"', 'hugepages-2Mi = "64Mi"', 'hugepages-1Gi = "2Gi"']), {
      0: { ...one[0], 'hugepages-2Mi': '64Mi', 'hugepages-1Gi': '2Gi' },
    }),
  ),
  same(
    107,
    'two NUMA nodes',
    keeps(toml(['memory = "400Mi"'], ['memory = "327Mi"']), {
      0: { enabled: true, memory: '400Mi' },
      1: { enabled: true, memory: '327Mi' },
    }),
  ),
]);

const parts = [
  {
    contentType: 'application/node.eks.aws',
    body: 'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet: {}',
  },
  { contentType: 'text/x-shellscript; charset="us-ascii"', body: '#!/bin/bash\n\necho "Hello"' },
];
const document = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary="//"',
  '',
  ...parts.flatMap(({ contentType, body }) => ['--//', `Content-Type: ${contentType}`, '', body, '']),
  '--//--',
  '',
].join('\n');
const trimmed = (text: string): unknown =>
  readMime(text).map(({ contentType, body }) => ({ contentType, body: body.trim() }));

/** pkg/providers/amifamily/bootstrap/mime/suite_test.go */
export const mimeCases: readonly ConformanceCase[] = about('MIME user data', [
  same(
    42,
    'malformed headers are not read',
    gives(() => {
      try {
        return readMime(
          document.replace(/^MIME-Version: 1.0\nContent-Type: .*/, 'MIME_VERSION = 1.0\nCONTENT_TYPE = MIME'),
        );
      } catch (error) {
        return isDomainError(error, 'NodeClassNotReady');
      }
    }, true),
  ),
  same(
    48,
    'a document with two parts is read',
    gives(() => trimmed(document), parts),
  ),
  same(
    67,
    'a read document is written unchanged',
    gives(() => writeMime(parts), document),
  ),
]);

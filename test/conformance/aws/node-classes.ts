import { changes, judged, type Judgement } from '../schemas/judge.js';
import { about, same, type ConformanceCase } from '../conformance-case.js';
import type { Patch } from '../../integration/crd-case-helpers.js';

const kind = 'EC2NodeClass';
const refused = 'refused';
const accepted = 'accepted';
type Row = readonly [at: number, title: string, expected: Judgement, ...values: readonly unknown[]];

/** Cases of one field, each of one line. */
const field = (path: string, rows: readonly Row[], more: Patch = {}): readonly ConformanceCase[] =>
  rows.map(([at, title, expected, ...values]) =>
    same(at, title, judged(kind, expected, ...values.map((value) => ({ ...more, [`spec.${path}`]: value })))),
  );
const noRole: Patch = { 'spec.role': undefined };
const tag = { test: 'testvalue' };
const lastIsEmpty = [{ tags: tag }, { tags: { b: 'c' } }, { tags: { d: 'e' } }, { tags: { '': 'f' } }];

/** What every list of selector terms asks for; lines of: none, no tags, no value, no key, the last of several. */
const terms = (lines: readonly [number, number, number, number, number]): readonly Row[] => [
  [lines[0], 'a term of nothing', refused, [{}]],
  // Go leaves an empty map out of what it sends.
  [lines[1], 'no tags', refused, [{}]],
  [lines[2], 'a tag without a value', refused, [{ tags: { test: '' } }]],
  [lines[3], 'a tag without a key', refused, [{ tags: { '': 'testvalue' } }]],
  [lines[4], 'the last of several terms', refused, lastIsEmpty],
];

const roleCases: readonly ConformanceCase[] = about('validation of role and instanceProfile', [
  same(67, 'role alone', judged(kind, accepted, {})),
  same(70, 'instanceProfile alone', judged(kind, accepted, { ...noRole, 'spec.instanceProfile': 'p' })),
  same(75, 'both are refused', judged(kind, refused, { 'spec.instanceProfile': 'p' })),
  same([79, 1324], 'neither is refused', judged(kind, refused, noRole, { 'spec.role': '' })),
  same(84, 'no user data', judged(kind, accepted, {})),
  same(1328, 'the role may change', changes(kind, { 'spec.role': 'a' }, { 'spec.role': 'b' }, true)),
  same(
    1335,
    'changing from profile to role is refused',
    changes(
      kind,
      { ...noRole, 'spec.instanceProfile': 'p' },
      { 'spec.role': 'a', 'spec.instanceProfile': undefined },
      true,
    ),
  ),
  same(
    1344,
    'changing from role to profile is refused',
    changes(kind, { 'spec.role': 'a' }, { ...noRole, 'spec.instanceProfile': 'p' }, true),
  ),
]);

const families = ['AL2', 'AL2023', 'Bottlerocket', 'Windows2019', 'Windows2022', 'Windows2025'];
const imageOf = (id: object): Patch => ({ 'spec.amiSelectorTerms': [id] });
const anImage = imageOf({ id: 'ami-0123456789abcdef' });
const latest = (family: string): Patch => imageOf({ alias: `${family.toLowerCase()}@latest` });
const familyCases: readonly ConformanceCase[] = about('validation of amiFamily', [
  same(
    [],
    'known families',
    judged(kind, accepted, ...[...families, 'Custom'].map((family) => ({ ...anImage, 'spec.amiFamily': family }))),
  ),
  same(102, 'an unknown family is refused', judged(kind, refused, { ...anImage, 'spec.amiFamily': 'Ubuntu' })),
  same(
    [],
    'a family with its alias, or Custom with any',
    judged(
      kind,
      accepted,
      ...families.flatMap((family) => [family, 'Custom'].map((own) => ({ ...latest(family), 'spec.amiFamily': own }))),
    ),
  ),
  same(
    [],
    'a family with the alias of another is refused',
    judged(
      kind,
      refused,
      ...families.flatMap((a) => families.flatMap((b) => (a === b ? [] : [{ ...latest(a), 'spec.amiFamily': b }]))),
    ),
  ),
  same(171, 'no family and no alias is refused', judged(kind, refused, anImage)),
]);

const alias = (at: number, name: string, family: string): ConformanceCase =>
  same(at, `alias ${name}`, judged(kind, accepted, { ...imageOf({ alias: name }), 'spec.amiFamily': family }));
/** Terms of an image by its id or its alias and something else. */
const mixed = (lines: readonly number[], first: object, others: readonly object[]): readonly ConformanceCase[] =>
  others.map((other, i) =>
    same(
      lines[i]!,
      `${Object.keys(first)[0]!} beside ${Object.keys(other)[0]!}`,
      judged(kind, refused, { ...imageOf({ ...first, ...other }), 'spec.amiFamily': 'AL2023' }),
    ),
  );
const al2023 = { alias: 'al2023@latest' };
const common = [{ tags: tag }, { name: 'my-custom-ami' }, { owner: '123456789' }];
const imageCases: readonly ConformanceCase[] = about('validation of amiSelectorTerms', [
  ...field('amiSelectorTerms', [[599, 'an alias', accepted, [al2023]]]),
  ...field(
    'amiSelectorTerms',
    [
      [605, 'tags', accepted, [{ tags: tag }]],
      [615, 'an id', accepted, [{ id: 'ami-12345749' }]],
      [623, 'a name', accepted, [{ name: 'testname' }]],
      [631, 'a name and an owner', accepted, [{ name: 'testname', owner: 'testowner' }]],
      [640, 'tags and an owner', accepted, [{ owner: 'testowner', tags: tag }]],
      ...terms([651, 657, 665, 675, 685]),
      [740, 'an alias beside another term', refused, [al2023, { id: 'ami-1234749' }]],
    ],
    { 'spec.amiFamily': 'AL2023' },
  ),
  ...mixed([718, 719, 722, 723], { id: 'ami-1234749' }, [al2023, ...common]),
  ...mixed([733, 734, 737, 738], al2023, [{ id: 'ami-1234749' }, ...common]),
  alias(754, 'al2@latest', 'AL2'),
  alias(755, 'al2@v20240625', 'AL2'),
  alias(756, 'al2023@latest', 'AL2023'),
  alias(757, 'al2023@v20240625', 'AL2023'),
  alias(758, 'bottlerocket@latest', 'Bottlerocket'),
  alias(759, 'bottlerocket@1.10.0', 'Bottlerocket'),
  alias(760, 'windows2019@latest', 'Windows2019'),
  alias(761, 'windows2022@latest', 'Windows2022'),
  alias(762, 'windows2025@latest', 'Windows2025'),
  ...field('amiSelectorTerms', [
    [772, 'an alias without a family', refused, [{ alias: '@latest' }]],
    [773, 'an alias without a version', refused, [{ alias: 'al2023' }], [{ alias: 'al2023@' }]],
    [774, 'an alias with another separator', refused, [{ alias: 'al2023-latest' }]],
    [776, 'an alias of a family that is none', refused, [{ alias: 'ubuntu@latest' }]],
    ...(['2019', '2022', '2025'] as const).map((year, i): Row => [
      786 + i,
      `Windows ${year} of a version`,
      refused,
      [{ alias: `windows${year}@v1.0.0` }],
    ]),
  ]),
]);

const reservation = 'cr-12345749';
const ownerID = '012345678901';
const selectorCases: readonly ConformanceCase[] = [
  ...field('tags', [
    [178, 'no tags', accepted, {}],
    [
      182,
      'tags',
      accepted,
      { 'karpenter.sh/custom-key': 'v', 'karpenter.sh/managed': 'true', 'kubernetes.io/role/key': 'v' },
    ],
    [
      190,
      'tags that are written by the autoscaler',
      refused,
      ...[
        'karpenter.sh/nodepool',
        'kubernetes.io/cluster/test',
        'eks:eks-cluster-name',
        'karpenter.k8s.aws/ec2nodeclass',
        'karpenter.sh/nodeclaim',
      ].map((key) => ({ [key]: 'value' })),
    ],
  ]),
  ...field('subnetSelectorTerms', [
    [214, 'tags', accepted, [{ tags: tag }]],
    [224, 'an id', accepted, [{ id: 'subnet-12345749' }]],
    [232, 'absent', refused, undefined],
    [236, 'no terms', refused, []],
    ...terms([240, 246, 254, 264, 274]),
    [299, 'an id and tags', refused, [{ id: 'subnet-12345749', tags: tag }]],
  ]),
  ...field('securityGroupSelectorTerms', [
    [312, 'tags', accepted, [{ tags: tag }]],
    [322, 'an id', accepted, [{ id: 'sg-12345749' }]],
    [330, 'a name', accepted, [{ name: 'testname' }]],
    [338, 'absent', refused, undefined],
    [342, 'no terms', refused, []],
    ...terms([346, 352, 360, 370, 380]),
    [405, 'an id and tags', refused, [{ id: 'sg-12345749', tags: tag }]],
    [416, 'an id and a name', refused, [{ id: 'sg-12345749', name: 'g' }]],
    [425, 'a name and tags', refused, [{ name: 'g', tags: tag }]],
  ]),
  ...field('capacityReservationSelectorTerms', [
    [438, 'tags', accepted, [{ tags: tag }]],
    [446, 'an id', accepted, [{ id: reservation }]],
    [452, 'an owner', accepted, [{ ownerID, tags: tag }]],
    [461, 'an id that is none', refused, [{ id: 'r-12345749' }]],
    [467, 'absent', accepted, undefined],
    ...terms([471, 475, 481, 489, 497]),
    [522, 'an id and tags', refused, [{ id: reservation, tags: tag }]],
    [531, 'an id and an owner', refused, [{ id: reservation, ownerID }]],
    [538, 'an owner that is none', refused, [{ ownerID: '01234567890', tags: tag }]],
    [547, 'an owner alone', refused, [{ ownerID }]],
    [553, 'open ones', accepted, [{ instanceMatchCriteria: 'open' }]],
    [559, 'targeted ones', accepted, [{ instanceMatchCriteria: 'targeted' }]],
    [565, 'open ones by tags', accepted, [{ instanceMatchCriteria: 'open', tags: tag }]],
    [574, 'targeted ones of an owner by tags', accepted, [{ instanceMatchCriteria: 'targeted', ownerID, tags: tag }]],
    [584, 'criteria that are none', refused, [{ instanceMatchCriteria: 'invalid' }]],
    [590, 'an id and criteria', refused, [{ id: reservation, instanceMatchCriteria: 'open' }]],
  ]),
];

const disk = (ebs: object, rootVolume = false, deviceName = 'map-device-1'): object => ({
  deviceName,
  ebs,
  rootVolume,
});
const slow = (volumeInitializationRate: number, snapshotID?: string): readonly object[] => [
  disk({ volumeSize: '50G', volumeInitializationRate, ...(snapshotID !== undefined && { snapshotID }) }),
];
const nic = (networkCardIndex: number, deviceIndex: number, interfaceType = 'interface'): object => ({
  networkCardIndex,
  deviceIndex,
  interfaceType,
});
const efa = 'efa-only';
const launchCases: readonly ConformanceCase[] = about('validation of launch settings', [
  ...field('metadataOptions', [
    [
      852,
      'all options',
      accepted,
      { httpEndpoint: 'disabled', httpProtocolIPv6: 'enabled', httpPutResponseHopLimit: 34, httpTokens: 'optional' },
    ],
    [861, 'httpEndpoint', refused, { httpEndpoint: 'test' }],
    [867, 'httpProtocolIPv6', refused, { httpProtocolIPv6: 'test' }],
    [873, 'httpPutResponseHopLimit', refused, { httpPutResponseHopLimit: -5 }],
    [879, 'httpTokens', refused, { httpTokens: 'test' }],
  ]),
  ...field('blockDeviceMappings', [
    [
      887,
      'one root volume of two',
      accepted,
      [disk({ volumeSize: '500G' }, true), disk({ volumeSize: '50T' }, false, 'b')],
    ],
    [917, 'gigabytes', accepted, [disk({ volumeSize: '58G' })]],
    [938, 'terabytes', accepted, [disk({ volumeSize: '45T' })]],
    [959, 'two root volumes', refused, [disk({ volumeSize: '50G' }, true), disk({ volumeSize: '50G' }, true, 'b')]],
    [987, 'a volume too small', refused, [disk({ volumeSize: '1m' })]],
    [1008, 'a volume too large', refused, [disk({ volumeSize: '100T' })]],
    [1029, 'no size', refused, [disk({ volumeSize: '0' })]],
    [1050, 'a rate without a snapshot', refused, slow(100)],
    [1072, 'a rate too low', refused, slow(99, 'snap-1')],
    [1095, 'a rate too high', refused, slow(888, 'snap-1')],
  ]),
  ...field('networkInterfaces', [
    [1120, 'several', accepted, [nic(0, 0), nic(0, 1, efa), nic(1, 0, efa), nic(1, 1)]],
    [1145, 'none', accepted, []],
    [1149, 'a type that is none', refused, [nic(0, 0, 'efa')]],
    [1159, 'a card below zero', refused, [nic(0, 0), nic(-1, 0)]],
    [1174, 'a device below zero', refused, [nic(-1, 0), nic(0, -1)]],
    [1189, 'one place twice', refused, [nic(0, 0), nic(0, 1, efa), nic(1, 0), nic(1, 0, efa)]],
    [1214, 'no primary one', refused, [nic(0, 1)]],
    [1224, 'a primary one of EFA', refused, [nic(0, 0, efa)]],
    [1234, 'two of EFA on one card', refused, [nic(0, 0), nic(1, 0, efa), nic(1, 1, efa)]],
  ]),
  ...field('connectionTracking', [
    [1256, 'none', refused, {}],
    [1260, 'TCP', accepted, { tcpEstablishedTimeout: 60 }],
    [1266, 'UDP streams', accepted, { udpStreamTimeout: 120 }],
    [1272, 'UDP', accepted, { udpTimeout: 45 }],
    [1278, 'all', accepted, { tcpEstablishedTimeout: 432_000, udpStreamTimeout: 180, udpTimeout: 60 }],
    [1286, 'TCP too short', refused, { tcpEstablishedTimeout: 59 }],
    [1292, 'TCP too long', refused, { tcpEstablishedTimeout: 432_001 }],
    [1298, 'UDP streams too short', refused, { udpStreamTimeout: 59 }],
    [1304, 'UDP streams too long', refused, { udpStreamTimeout: 181 }],
    [1310, 'UDP too short', refused, { udpTimeout: 29 }],
    [1316, 'UDP too long', refused, { udpTimeout: 61 }],
  ]),
  ...field('cpuOptions', [
    [1356, 'nested virtualization', accepted, { nestedVirtualization: 'enabled' }],
    [1362, 'no nested virtualization', accepted, { nestedVirtualization: 'disabled' }],
    [1368, 'neither', refused, { nestedVirtualization: 'invalid' }],
    [1374, 'no options', accepted, {}],
  ]),
]);

const admitted: readonly ConformanceCase[] = field('kubelet', [
  [
    796,
    'what is understood',
    accepted,
    { maxPods: 110, podsPerCore: 10, kubeReserved: { cpu: '200m' }, evictionHard: { 'memory.available': '5%' } },
  ],
  [806, 'a field that is passed on', accepted, { serializeImagePulls: false }],
  [816, 'what the controller finds wrong later', accepted, { notAKubeletField: true, podsPerCore: 'ten' }],
  [832, 'a nested field', accepted, { logging: { format: 'json', options: { json: { splitStream: true } } } }],
]);

/** pkg/apis/v1/ec2nodeclass_validation_cel_test.go */
export const nodeClassCases: readonly ConformanceCase[] = [
  ...roleCases,
  ...familyCases,
  ...selectorCases,
  ...imageCases,
  ...admitted,
  ...launchCases,
];

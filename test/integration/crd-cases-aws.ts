import { entries, field, many, type CrdRow, type Patch } from './crd-case-helpers.js';

const kind = 'EC2NodeClass';

/** Tags of a selector term: at most 20, none empty. */
function termTagsRow(path: string): CrdRow {
  const term = (tags: unknown): Patch => ({ [path]: [{ tags }] });
  return {
    kind,
    rule: `${path}: tags`,
    accepts: [term({ Name: 'a' }), term({ Name: '*' }), term(entries(20)), term({})].map((patch) =>
      path === 'spec.amiSelectorTerms' ? { ...patch, 'spec.amiFamily': 'AL2023' } : patch,
    ),
    refuses: [term({ Name: '' }), term({ '': 'a' }), term(entries(21))].map((patch) =>
      path === 'spec.amiSelectorTerms' ? { ...patch, 'spec.amiFamily': 'AL2023' } : patch,
    ),
  };
}

const selectorRows: CrdRow[] = [
  termTagsRow('spec.subnetSelectorTerms'),
  termTagsRow('spec.securityGroupSelectorTerms'),
  termTagsRow('spec.capacityReservationSelectorTerms'),
  termTagsRow('spec.amiSelectorTerms'),
  field(kind, 'spec.subnetSelectorTerms', {
    accepts: [
      [{ id: 'subnet-0a1b' }],
      many(30, (index) => ({ id: `subnet-${index}` })),
      // As under Karpenter: one such term among good ones is let through.
      [{ id: 'subnet-0a1b', tags: { Name: 'a' } }, { id: 'subnet-0a1c' }],
    ],
    refuses: [
      undefined,
      [],
      [{}],
      [{ id: 'subnet-0a1b' }, {}],
      [{ id: 'sub-0a1b' }],
      [{ id: 'subnet-0a1b', tags: { Name: 'a' } }],
      many(31, (index) => ({ id: `subnet-${index}` })),
    ],
  }),
  field(kind, 'spec.securityGroupSelectorTerms', {
    accepts: [[{ id: 'sg-0a1b' }], [{ name: 'nodes' }], many(30, (index) => ({ id: `sg-${index}` }))],
    refuses: [
      undefined,
      [],
      [{}],
      [{ id: 'security-0a1b' }],
      [{ id: 'sg-0a1b', tags: { Name: 'a' } }],
      [{ id: 'sg-0a1b', name: 'nodes' }],
      [{ name: 'nodes', tags: { Name: 'a' } }],
      many(31, (index) => ({ id: `sg-${index}` })),
    ],
  }),
  field(kind, 'spec.capacityReservationSelectorTerms', {
    accepts: [
      [{ id: 'cr-0a1b' }],
      [{ tags: { Name: 'a' }, ownerID: '123456789012' }],
      [{ instanceMatchCriteria: 'open' }, { instanceMatchCriteria: 'targeted' }],
      many(30, (index) => ({ id: `cr-${index}` })),
    ],
    refuses: [
      [{}],
      [{ ownerID: '123456789012' }],
      [{ id: 'res-0a1b' }],
      [{ tags: { Name: 'a' }, ownerID: '12345' }],
      [{ instanceMatchCriteria: 'closed' }],
      [{ id: 'cr-0a1b', tags: { Name: 'a' } }],
      [{ id: 'cr-0a1b', ownerID: '123456789012' }],
      [{ id: 'cr-0a1b', instanceMatchCriteria: 'open' }],
      many(31, (index) => ({ id: `cr-${index}` })),
    ],
  }),
  field(kind, 'spec.placementGroupSelector', {
    accepts: [{ name: 'spread' }, { id: 'pg-0a1b' }],
    refuses: [{}, { name: '' }, { id: '0a1b' }, { name: 'spread', id: 'pg-0a1b' }],
  }),
];

const alias = (name: string): object[] => [{ alias: name }];

const imageRows: CrdRow[] = [
  {
    kind,
    rule: 'amiSelectorTerms without an alias (node-classes/alias-stands-alone)',
    accepts: [
      [{ id: 'ami-0a1b' }],
      [{ name: 'mine-*', owner: 'self' }],
      [{ tags: { Name: 'a' }, name: 'mine', owner: '123456789012' }],
      [{ ssmParameter: '/mine/image' }],
      many(30, (index) => ({ id: `ami-${index}` })),
    ].map((terms) => ({ 'spec.amiFamily': 'AL2023', 'spec.amiSelectorTerms': terms })),
    refuses: [
      undefined,
      [],
      [{}],
      [{ owner: 'self' }],
      [{ id: 'image-0a1b' }],
      [{ id: 'ami-0a1b', tags: { Name: 'a' } }],
      [{ id: 'ami-0a1b', name: 'mine' }],
      [{ id: 'ami-0a1b', owner: 'self' }],
      [{ id: 'ami-0a1c' }, { id: 'ami-0a1b', owner: 'self' }],
      many(31, (index) => ({ id: `ami-${index}` })),
    ].map((terms) => ({ 'spec.amiFamily': 'AL2023', 'spec.amiSelectorTerms': terms })),
  },
  field(kind, 'spec.amiSelectorTerms', {
    accepts: [
      'al2@latest',
      'al2023@v20240625',
      'bottlerocket@v1.10.0',
      'windows2019@latest',
      'windows2022@latest',
      'windows2025@latest',
    ].map(alias),
    refuses: [
      ...[
        'al2023',
        'al2023@',
        '@latest',
        'ubuntu@latest',
        'AL2023@latest',
        'windows2022@v1',
        `al2@${'1'.repeat(30)}`,
      ].map(alias),
      [{ alias: 'al2023@latest', id: 'ami-0a1b' }],
      [{ alias: 'al2023@latest', name: 'mine' }],
      [{ alias: 'al2023@latest', tags: { Name: 'a' } }],
      [{ alias: 'al2023@latest', owner: 'self' }],
    ],
  }),
  {
    kind,
    rule: 'a term with an alias is the only one (node-classes/alias-stands-alone)',
    accepts: [{ 'spec.amiSelectorTerms': alias('al2023@latest') }],
    refuses: [
      { 'spec.amiSelectorTerms': [{ alias: 'al2023@latest' }, { id: 'ami-0a1b' }] },
      { 'spec.amiSelectorTerms': [{ alias: 'al2023@latest' }, { alias: 'al2023@latest' }] },
    ],
  },
  {
    kind,
    rule: 'amiFamily agrees with the alias (node-classes/family-agrees-with-alias)',
    accepts: [
      ['al2@latest', 'AL2'],
      ['al2023@latest', 'AL2023'],
      ['al2023@latest', 'Custom'],
      ['bottlerocket@latest', 'Bottlerocket'],
      ['windows2019@latest', 'Windows2019'],
      ['windows2022@latest', 'Windows2022'],
      ['windows2025@latest', 'Windows2025'],
    ].map(([name, family]) => ({ 'spec.amiSelectorTerms': alias(name!), 'spec.amiFamily': family })),
    refuses: [
      ['al2023@latest', 'AL2'],
      ['al2@latest', 'AL2023'],
      ['bottlerocket@latest', 'AL2023'],
      ['windows2019@latest', 'Windows2022'],
      ['windows2022@latest', 'Windows2025'],
    ].map(([name, family]) => ({ 'spec.amiSelectorTerms': alias(name!), 'spec.amiFamily': family })),
  },
  {
    kind,
    rule: 'amiFamily is needed without an alias',
    accepts: ['AL2', 'AL2023', 'Bottlerocket', 'Custom', 'Windows2019', 'Windows2022', 'Windows2025'].map((family) => ({
      'spec.amiSelectorTerms': [{ id: 'ami-0a1b' }],
      'spec.amiFamily': family,
    })),
    refuses: [undefined, 'Ubuntu', 'al2023', ''].map((family) => ({
      'spec.amiSelectorTerms': [{ id: 'ami-0a1b' }],
      'spec.amiFamily': family,
    })),
  },
];

const device = (ebs: unknown, more: object = {}): Patch => ({
  'spec.blockDeviceMappings': [{ deviceName: '/dev/xvda', ebs, ...more }],
});

const diskRows: CrdRow[] = [
  {
    kind,
    rule: 'blockDeviceMappings: sizes',
    accepts: ['1Gi', '20Gi', '59000Gi', '1G', '64000G', '1Ti', '18Ti', '58Ti', '1T', '64T'].map((volumeSize) =>
      device({ volumeSize }),
    ),
    refuses: ['0Gi', '59001Gi', '64001G', '59Ti', '65T', 'Ti', '20', '20Mi', '1.5Ti', '', '-1Gi'].map((volumeSize) =>
      device({ volumeSize }),
    ),
  },
  {
    kind,
    rule: 'blockDeviceMappings: volumes',
    accepts: [
      device(undefined),
      device({ snapshotID: 'snap-0a1b' }),
      device({ snapshotID: 'snap-0a1b', volumeInitializationRate: 100 }),
      device({ snapshotID: 'snap-0a1b', volumeInitializationRate: 300 }),
      device({
        volumeSize: '20Gi',
        encrypted: true,
        deleteOnTermination: false,
        iops: 3000,
        throughput: 125,
        kmsKeyID: 'k',
      }),
      ...['standard', 'io1', 'io2', 'gp2', 'sc1', 'st1', 'gp3'].map((volumeType) =>
        device({ volumeSize: '20Gi', volumeType }),
      ),
    ],
    refuses: [
      device({}),
      device({ encrypted: true }),
      device({ volumeSize: '20Gi', volumeInitializationRate: 100 }),
      device({ volumeSize: '20Gi', snapshotID: '', volumeInitializationRate: 100 }),
      device({ snapshotID: 'snap-0a1b', volumeInitializationRate: 99 }),
      device({ snapshotID: 'snap-0a1b', volumeInitializationRate: 301 }),
      device({ volumeSize: '20Gi', volumeType: 'gp4' }),
    ],
  },
  field(kind, 'spec.blockDeviceMappings', {
    accepts: [
      [],
      [{ rootVolume: true }, { rootVolume: false }],
      many(50, (index) => ({ deviceName: `/dev/xvd${index}` })),
    ],
    refuses: [[{ rootVolume: true }, { rootVolume: true }], many(51, (index) => ({ deviceName: `/dev/xvd${index}` }))],
  }),
];

const card = (networkCardIndex: unknown, deviceIndex: unknown, interfaceType: unknown = 'interface'): object => ({
  networkCardIndex,
  deviceIndex,
  interfaceType,
});

const networkRows: CrdRow[] = [
  field(kind, 'spec.networkInterfaces', {
    accepts: [
      [],
      [card(0, 0)],
      [card(0, 0), card(0, 1, 'efa-only'), card(1, 0), card(1, 1, 'efa-only')],
      many(150, (index) => card(index, 0)),
    ],
    refuses: [
      [card(1, 0)],
      [card(0, 1)],
      [card(0, 0, 'efa-only')],
      [card(0, 0), card(0, 0)],
      [card(0, 0), card(1, 1), card(1, 1, 'efa-only')],
      [card(0, 0), card(1, 1, 'efa-only'), card(1, 2, 'efa-only')],
      [card(0, 0), card(-1, 0)],
      [card(0, 0), card(1, -1)],
      [card(0, 0), card(1, 0, 'efa')],
      [card(0, 0), card(undefined, 0)],
      [card(0, 0), card(1, undefined)],
      [card(0, 0), { networkCardIndex: 1, deviceIndex: 1 }],
      many(151, (index) => card(index, 0)),
    ],
  }),
  field(kind, 'spec.associatePublicIPAddress', { accepts: [true, false], refuses: ['yes'] }),
  field(kind, 'spec.ipPrefixCount', { accepts: [0, 4], refuses: [-1] }),
  field(kind, 'spec.connectionTracking', {
    accepts: [
      { tcpEstablishedTimeout: 60 },
      { tcpEstablishedTimeout: 432000 },
      { udpStreamTimeout: 60 },
      { udpStreamTimeout: 180 },
      { udpTimeout: 30 },
      { udpTimeout: 60 },
    ],
    refuses: [
      {},
      { tcpEstablishedTimeout: 59 },
      { tcpEstablishedTimeout: 432001 },
      { udpStreamTimeout: 59 },
      { udpStreamTimeout: 181 },
      { udpTimeout: 29 },
      { udpTimeout: 61 },
    ],
  }),
];

const otherRows: CrdRow[] = [
  { kind, rule: 'spec', accepts: [{}], refuses: [{ spec: undefined }] },
  {
    kind,
    rule: 'role or instanceProfile (node-classes/role-or-profile)',
    accepts: [{}, { 'spec.role': undefined, 'spec.instanceProfile': 'nodes' }],
    refuses: [
      { 'spec.instanceProfile': 'nodes' },
      { 'spec.role': undefined },
      { 'spec.role': '' },
      { 'spec.role': undefined, 'spec.instanceProfile': '' },
    ],
  },
  {
    kind,
    rule: 'the role may change',
    from: {},
    accepts: [{ 'spec.role': 'another' }, { 'spec.role': undefined, 'spec.instanceProfile': 'nodes' }],
    refuses: [{ 'spec.role': undefined }],
  },
  field(kind, 'spec.tags', {
    accepts: [{}, { team: 'red' }, { team: '' }, { 'karpenter.sh/discovery': 'local' }, entries(49)],
    refuses: [
      { '': 'red' },
      { 'eks:eks-cluster-name': 'local' },
      { 'kubernetes.io/cluster/local': 'owned' },
      { 'karpenter.sh/nodepool': 'general' },
      { 'karpenter.sh/nodeclaim': 'general-1' },
      { 'karpenter.k8s.aws/ec2nodeclass': 'default' },
    ],
  }),
  field(kind, 'spec.kubelet', {
    accepts: [
      {},
      { maxPods: 58, evictionHard: { 'memory.available': '5%' }, clusterDNS: ['10.0.0.10'] },
      { anything: { at: ['all', 1, null] }, maxPods: 'min(max_pods, 58)', none: null },
    ],
    refuses: ['maxPods: 58', ['maxPods']],
  }),
  field(kind, 'spec.instanceStorePolicy', { accepts: ['RAID0'], refuses: ['RAID10', ''] }),
  field(kind, 'spec.detailedMonitoring', { accepts: [true], refuses: ['on'] }),
  field(kind, 'spec.userData', { accepts: ['', '#!/bin/sh\necho hello\n'], refuses: [['echo']] }),
  field(kind, 'spec.context', { accepts: ['ctx'], refuses: [1] }),
  field(kind, 'spec.cpuOptions', {
    accepts: [{}, { nestedVirtualization: 'enabled' }, { nestedVirtualization: 'disabled' }],
    refuses: [{ nestedVirtualization: 'on' }],
  }),
  field(kind, 'spec.metadataOptions', { accepts: [{}, { httpTokens: 'optional' }, null], refuses: ['open'] }),
  field(kind, 'spec.metadataOptions.httpEndpoint', { accepts: ['enabled', 'disabled'], refuses: ['on'] }),
  field(kind, 'spec.metadataOptions.httpProtocolIPv6', { accepts: ['enabled', 'disabled'], refuses: ['on'] }),
  field(kind, 'spec.metadataOptions.httpPutResponseHopLimit', { accepts: [1, 64], refuses: [0, 65] }),
  field(kind, 'spec.metadataOptions.httpTokens', { accepts: ['required', 'optional'], refuses: ['never'] }),
];

export const ec2NodeClassRows: readonly CrdRow[] = [
  ...selectorRows,
  ...imageRows,
  ...diskRows,
  ...networkRows,
  ...otherRows,
];

import {
  crons,
  durations,
  entries,
  field,
  many,
  nillableDurations,
  quantities,
  type CrdRow,
  type Patch,
} from './crd-case-helpers.js';

const labelKeyCases = {
  accepts: [
    'team',
    'example.com/team',
    'karpenter.sh/capacity-type',
    'karpenter.k8s.aws/instance-family',
    'kops.k8s.io/ig',
  ],
  refuses: [
    '',
    '-team',
    'Example.com/team',
    'example.com/team/blue',
    `example.com/${'a'.repeat(317)}`,
    'karpenter.sh/initialized',
    'sub.karpenter.sh/team',
    'karpenter.k8s.aws/colour',
    'kubernetes.io/hostname',
  ],
};

const requirementsBase = (path: string, requirement: unknown): Patch => ({ [path]: [requirement] });

/** The rows that requirements of every kind share. */
function requirementRows(kind: string, path: string): CrdRow[] {
  const one = (requirement: unknown): Patch => requirementsBase(path, requirement);
  const numeric = ['Gt', 'Lt', 'Gte', 'Lte'];
  return [
    {
      kind,
      rule: `${path}: keys`,
      accepts: labelKeyCases.accepts.map((key) => one({ key, operator: 'Exists' })),
      refuses: [undefined, ...labelKeyCases.refuses].map((key) => one({ key, operator: 'Exists' })),
    },
    {
      kind,
      rule: `${path}: operators`,
      accepts: ['Exists', 'DoesNotExist'].map((operator) => one({ key: 'team', operator })),
      refuses: ['exists', 'Is', undefined].map((operator) => one({ key: 'team', operator })),
    },
    {
      kind,
      rule: `${path}: values are label values`,
      accepts: ['', 'a', 'a'.repeat(63)].map((value) => one({ key: 'team', operator: 'In', values: [value] })),
      refuses: ['-a', 'a b', 'a'.repeat(64)].map((value) => one({ key: 'team', operator: 'In', values: [value] })),
    },
    {
      kind,
      rule: `${path}: In needs values`,
      accepts: [one({ key: 'team', operator: 'In', values: ['red'] })],
      refuses: [one({ key: 'team', operator: 'In', values: [] }), one({ key: 'team', operator: 'In' })],
    },
    {
      kind,
      rule: `${path}: Gt, Lt, Gte and Lte take one whole number (node-pools/numeric-requirements)`,
      accepts: numeric.flatMap((operator) =>
        ['0', '16', '007'].map((value) => one({ key: 'team', operator, values: [value] })),
      ),
      refuses: numeric.flatMap((operator) =>
        [['-1'], ['1', '2'], ['many'], ['1.5'], [], undefined, ['9'.repeat(19)]].map((values) =>
          one({ key: 'team', operator, values }),
        ),
      ),
    },
    {
      kind,
      rule: `${path}: at most 100`,
      accepts: [{ [path]: many(100, (index) => ({ key: `key-${index}`, operator: 'Exists' })) }, { [path]: [] }],
      refuses: [{ [path]: many(101, (index) => ({ key: `key-${index}`, operator: 'Exists' })) }, { [path]: undefined }],
    },
  ];
}

/** minValues, where requirements have it. */
function minValuesRows(kind: string, path: string): CrdRow[] {
  const needing = (minValues: unknown, values = ['a', 'b', 'c']): Patch =>
    requirementsBase(path, { key: 'team', operator: 'In', values, minValues });
  return [
    {
      kind,
      rule: `${path}: minValues 1 to 50, and not more than In has values (node-pools/min-values-range)`,
      accepts: [
        needing(1),
        needing(3),
        needing(
          50,
          many(50, (index) => `v${index}`),
        ),
        requirementsBase(path, { key: 'team', operator: 'Exists', minValues: 5 }),
      ],
      refuses: [
        needing(0),
        needing(3, ['a', 'b']),
        needing(
          51,
          many(60, (index) => `v${index}`),
        ),
        needing(1.5),
      ],
    },
  ];
}

function taintRows(kind: string, spec: string): CrdRow[] {
  return ['taints', 'startupTaints'].flatMap((list) => {
    const taint = (change: object): Patch => ({
      [`${spec}.${list}`]: [{ key: 'example.com/dedicated', value: 'gpu', effect: 'NoSchedule', ...change }],
    });
    return [
      {
        kind,
        rule: `${spec}.${list}`,
        accepts: [
          taint({}),
          taint({ value: undefined }),
          taint({ effect: 'NoExecute' }),
          taint({ effect: 'PreferNoSchedule' }),
          taint({ timeAdded: '2026-01-01T00:00:00Z' }),
        ],
        refuses: [
          taint({ key: '' }),
          taint({ key: undefined }),
          taint({ key: '/dedicated' }),
          taint({ value: 'a b' }),
          taint({ effect: 'Never' }),
          taint({ effect: undefined }),
          taint({ timeAdded: 'yesterday' }),
        ],
      },
    ];
  });
}

function nodeClassRefRow(kind: string, path: string): CrdRow {
  const ref = (change: object): Patch => ({
    [path]: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default', ...change },
  });
  return {
    kind,
    rule: path,
    accepts: [ref({}), ref({ group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass' })],
    refuses: [
      ref({ group: '' }),
      ref({ kind: '' }),
      ref({ name: '' }),
      ref({ group: 'karpenter.k8s.aws/v1' }),
      ref({ group: undefined }),
      ref({ kind: undefined }),
      ref({ name: undefined }),
      { [path]: undefined },
    ],
  };
}

const poolSpec = 'spec.template.spec';

const nodePoolRows: CrdRow[] = [
  {
    kind: 'NodePool',
    rule: 'spec',
    accepts: [{}],
    refuses: [{ spec: undefined }, { 'spec.template': undefined }, { [poolSpec]: undefined }],
  },
  ...requirementRows('NodePool', `${poolSpec}.requirements`),
  ...minValuesRows('NodePool', `${poolSpec}.requirements`),
  ...taintRows('NodePool', poolSpec),
  {
    kind: 'NodePool',
    rule: 'requirements may not name the pool',
    accepts: [requirementsBase(`${poolSpec}.requirements`, { key: 'karpenter.sh/capacity-type', operator: 'Exists' })],
    refuses: [requirementsBase(`${poolSpec}.requirements`, { key: 'karpenter.sh/nodepool', operator: 'Exists' })],
  },
  nodeClassRefRow('NodePool', `${poolSpec}.nodeClassRef`),
  field('NodePool', 'spec.template.metadata.labels', {
    accepts: [
      {},
      { team: 'red' },
      { 'example.com/team': '' },
      { 'karpenter.sh/capacity-type': 'spot' },
      { 'karpenter.k8s.aws/instance-family': 'm5' },
      { 'node.kubernetes.io/role': 'x' },
      entries(100),
    ],
    refuses: [
      { 'karpenter.sh/nodepool': 'general' },
      { 'karpenter.sh/initialized': 'true' },
      { 'karpenter.k8s.aws/colour': 'red' },
      { 'kubernetes.io/hostname': 'me' },
      { team: 'a b' },
      { team: 'a'.repeat(64) },
      entries(101),
    ],
  }),
  field('NodePool', 'spec.template.metadata.annotations', {
    accepts: [{ note: 'any text at all' }],
    refuses: [{ note: 1 }],
  }),
  field('NodePool', `${poolSpec}.expireAfter`, nillableDurations),
  field('NodePool', `${poolSpec}.terminationGracePeriod`, durations),
  field('NodePool', 'spec.disruption', {
    accepts: [{}, { consolidateAfter: '5m' }, { budgets: [] }],
    refuses: ['none'],
  }),
  field('NodePool', 'spec.disruption.consolidateAfter', nillableDurations),
  field('NodePool', 'spec.disruption.consolidationPolicy', {
    accepts: ['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'],
    refuses: ['WhenUnderutilized', ''],
  }),
  field('NodePool', 'spec.disruption.budgets', {
    accepts: [many(50, () => ({ nodes: '1' })), [{}], [{ nodes: '5', schedule: '@daily', duration: '8h' }]],
    refuses: [many(51, () => ({ nodes: '1' }))],
  }),
  field('NodePool', 'spec.disruption.budgets[0].nodes', {
    accepts: ['0', '5', '1000', '0%', '10%', '100%'],
    refuses: ['101%', '-1', '1.5', 'all', '', 5],
  }),
  field('NodePool', 'spec.disruption.budgets[0].reasons', {
    accepts: [['Empty'], ['Empty', 'Drifted', 'Underutilized'], []],
    refuses: [['Expired'], ['Empty', 'Empty'], many(51, () => 'Empty')],
  }),
  {
    kind: 'NodePool',
    rule: 'a budget has schedule and duration, or neither (budgets/schedule-and-duration)',
    accepts: [...crons.accepts, '@annually', '@yearly', '@monthly', '@weekly', '@midnight', '@hourly'].map(
      (schedule) => ({
        'spec.disruption.budgets': [{ nodes: '1', schedule, duration: '1h' }],
      }),
    ),
    refuses: [...crons.refuses.filter((schedule) => schedule !== '0 0 9 * * *'), '0 0 9 * * *'].map(
      (schedule): Patch => ({ 'spec.disruption.budgets': [{ nodes: '1', schedule, duration: '1h' }] }),
    ),
  },
  {
    kind: 'NodePool',
    rule: 'budget durations are hours and minutes',
    accepts: ['1h', '90m', '1h30m', '1h30m0s'].map((duration) => ({
      'spec.disruption.budgets': [{ nodes: '1', schedule: '@daily', duration }],
    })),
    refuses: [
      ...['30s', '1d', '', '30m1h', 'Never'].map((duration) => ({
        'spec.disruption.budgets': [{ nodes: '1', schedule: '@daily', duration }],
      })),
      { 'spec.disruption.budgets': [{ nodes: '1', schedule: '@daily' }] },
      { 'spec.disruption.budgets': [{ nodes: '1', duration: '1h' }] },
    ],
  },
  field('NodePool', 'spec.limits', {
    accepts: [
      { cpu: '1000', memory: '1000Gi', nodes: '10', 'nvidia.com/gpu': '4' },
      ...quantities.accepts.map((cpu) => ({ cpu })),
    ],
    refuses: [...quantities.refuses.map((cpu) => ({ cpu })), { cpu: 1.5 }, { cpu: true }],
  }),
  field('NodePool', 'spec.weight', { accepts: [1, 100], refuses: [0, 101, '10', 1.5] }),
  field('NodePool', 'spec.replicas', { accepts: [0, 3], refuses: [-1, '3'] }),
  {
    kind: 'NodePool',
    rule: 'a static pool has no limits but nodes, and no weight (static-capacity/fields)',
    accepts: [
      { 'spec.replicas': 3, 'spec.limits': { nodes: '5' } },
      { 'spec.replicas': 3, 'spec.limits': {} },
    ],
    refuses: [
      { 'spec.replicas': 3, 'spec.limits': { cpu: '10' } },
      { 'spec.replicas': 3, 'spec.limits': { nodes: '5', cpu: '10' } },
      { 'spec.replicas': 3, 'spec.weight': 10 },
    ],
  },
  {
    kind: 'NodePool',
    rule: 'a dynamic pool stays dynamic (static-capacity/replicas-for-good)',
    from: {},
    accepts: [{ 'spec.weight': 10 }],
    refuses: [{ 'spec.replicas': 1 }, { 'spec.replicas': 0 }],
  },
  {
    kind: 'NodePool',
    rule: 'a static pool stays static (static-capacity/replicas-for-good)',
    from: { 'spec.replicas': 1 },
    accepts: [{ 'spec.replicas': 2 }],
    refuses: [{ 'spec.replicas': undefined }],
  },
  {
    kind: 'NodePool',
    rule: 'the kind of node class stays',
    from: {},
    accepts: [{ [`${poolSpec}.nodeClassRef.name`]: 'other' }],
    refuses: [
      { [`${poolSpec}.nodeClassRef.group`]: 'karpenter.kwok.sh' },
      { [`${poolSpec}.nodeClassRef.kind`]: 'KWOKNodeClass' },
    ],
  },
];

const nodeClaimRows: CrdRow[] = [
  { kind: 'NodeClaim', rule: 'spec', accepts: [{}], refuses: [{ spec: undefined }] },
  ...requirementRows('NodeClaim', 'spec.requirements'),
  ...minValuesRows('NodeClaim', 'spec.requirements'),
  ...taintRows('NodeClaim', 'spec'),
  nodeClassRefRow('NodeClaim', 'spec.nodeClassRef'),
  field('NodeClaim', 'spec.expireAfter', nillableDurations),
  field('NodeClaim', 'spec.terminationGracePeriod', durations),
  field('NodeClaim', 'spec.resources.requests', {
    accepts: [{ cpu: '100m', memory: '1Gi', pods: '4' }],
    refuses: quantities.refuses.map((cpu) => ({ cpu })),
  }),
  {
    kind: 'NodeClaim',
    rule: 'spec is immutable (node-claims/immutable)',
    from: {},
    accepts: [{ 'metadata.labels': { team: 'red' } }, { 'spec.expireAfter': '720h' }],
    refuses: [
      { 'spec.expireAfter': '1h' },
      { 'spec.terminationGracePeriod': '1h' },
      { 'spec.requirements': [] },
      { 'spec.nodeClassRef.name': 'other' },
    ],
  },
];

const nodeOverlayRows: CrdRow[] = [
  { kind: 'NodeOverlay', rule: 'spec', accepts: [{}], refuses: [{ spec: undefined }] },
  ...requirementRows('NodeOverlay', 'spec.requirements'),
  {
    kind: 'NodeOverlay',
    rule: 'NotIn needs values',
    accepts: [requirementsBase('spec.requirements', { key: 'team', operator: 'NotIn', values: ['red'] })],
    refuses: [
      requirementsBase('spec.requirements', { key: 'team', operator: 'NotIn', values: [] }),
      requirementsBase('spec.requirements', { key: 'team', operator: 'NotIn' }),
    ],
  },
  field('NodeOverlay', 'spec.price', { accepts: ['0', '1', '0.25'], refuses: ['-1', '.5', '1.', 'free', '', 1] }),
  field('NodeOverlay', 'spec.priceAdjustment', {
    accepts: ['-0.5', '+1.2', '+10%', '-10%', '-99.5%', '-100%', '+250%', '+.5'],
    refuses: ['0.5', '10%', '-101%', '+', '', '-100.5%'],
  }),
  {
    kind: 'NodeOverlay',
    rule: 'price or priceAdjustment',
    accepts: [{ 'spec.price': '1' }],
    refuses: [{ 'spec.price': '1', 'spec.priceAdjustment': '+1' }],
  },
  field('NodeOverlay', 'spec.capacity', {
    accepts: [{}, { 'example.com/dongle': '2' }],
    refuses: [
      { cpu: '1' },
      { memory: '1Gi' },
      { 'ephemeral-storage': '1Gi' },
      { pods: '1' },
      { 'example.com/dongle': '2', cpu: '1' },
      { 'example.com/dongle': 'two' },
    ],
  }),
  field('NodeOverlay', 'spec.weight', { accepts: [1, 10000], refuses: [0, 10001] }),
];

const capacityBufferRows: CrdRow[] = [
  { kind: 'CapacityBuffer', rule: 'spec', accepts: [{}, { spec: {} }], refuses: [{ spec: undefined }] },
  field('CapacityBuffer', 'spec.replicas', { accepts: [0, 5], refuses: [-1, '5'] }),
  field('CapacityBuffer', 'spec.percentage', { accepts: [0, 150], refuses: [-1] }),
  field('CapacityBuffer', 'spec.limits', {
    accepts: [{ cpu: '10' }],
    refuses: quantities.refuses.map((cpu) => ({ cpu })),
  }),
  field('CapacityBuffer', 'spec.podTemplateRef', { accepts: [{ name: 'a' }], refuses: [{ name: '' }, {}] }),
  {
    kind: 'CapacityBuffer',
    rule: 'scalableRef',
    accepts: [
      { 'spec.podTemplateRef': undefined, 'spec.scalableRef': { apiGroup: 'apps', kind: 'Deployment', name: 'web' } },
      { 'spec.podTemplateRef': undefined, 'spec.scalableRef': { kind: 'Deployment', name: 'web' } },
    ],
    refuses: [
      { 'spec.podTemplateRef': undefined, 'spec.scalableRef': { kind: '', name: 'web' } },
      { 'spec.podTemplateRef': undefined, 'spec.scalableRef': { kind: 'Deployment', name: '' } },
      { 'spec.podTemplateRef': undefined, 'spec.scalableRef': { kind: 'Deployment' } },
      { 'spec.podTemplateRef': undefined, 'spec.scalableRef': { name: 'web' } },
    ],
  },
  {
    kind: 'CapacityBuffer',
    rule: 'one reference, and a size for a template',
    accepts: [{ 'spec.replicas': undefined, 'spec.limits': { cpu: '1' } }],
    refuses: [{ 'spec.replicas': undefined }, { 'spec.scalableRef': { kind: 'Deployment', name: 'web' } }],
  },
];

const kwokRows: CrdRow[] = [
  { kind: 'KWOKNodeClass', rule: 'spec', accepts: [{}, { spec: undefined }], refuses: [{ spec: 'fast' }] },
  field('KWOKNodeClass', 'spec.nodeRegistrationDelay', durations),
];

export const karpenterRows: readonly CrdRow[] = [...nodePoolRows, ...nodeClaimRows, ...nodeOverlayRows];
export const otherRows: readonly CrdRow[] = [...kwokRows, ...capacityBufferRows];

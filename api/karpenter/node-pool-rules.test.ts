import { describe, expect, test } from '@jest/globals';
import { build, type Patch } from '../../test/integration/crd-case-helpers.js';
import { nodeOverlayIssues } from './node-overlay-rules.js';
import { nodeOverlays } from './node-overlay.js';
import { nodePoolIssues } from './node-pool-rules.js';
import { nodePools } from './node-pool.js';
import { restrictedLabel } from './requirement-rules.js';

const spec = 'spec.template.spec';
const issuesOf = (patch: Patch): [path: string, severity: string][] =>
  nodePoolIssues(nodePools.mustParse(build('NodePool', patch))).map(({ path, severity }) => [path, severity]);

const requirement = (change: object): Patch => ({ [`${spec}.requirements`]: [{ operator: 'In', ...change }] });

describe('nodePoolIssues', () => {
  test('finds nothing wrong with a valid NodePool', () => {
    expect(
      issuesOf({
        'spec.template.metadata.labels': { team: 'red', 'example.com/team': 'red' },
        [`${spec}.taints`]: [{ key: 'a', effect: 'NoSchedule' }],
        [`${spec}.startupTaints`]: [
          { key: 'a', effect: 'NoExecute' },
          { key: 'b', value: 'x', effect: 'NoSchedule' },
        ],
        'spec.disruption.budgets': [{ nodes: '1', schedule: '0 9 * * mon-fri', duration: '8h' }],
      }),
    ).toEqual([]);
  });

  test('a taint may be in taints and startupTaints only once together (node-pools/taints-once)', () => {
    const taint = { key: 'example.com/a', effect: 'NoSchedule' };

    expect(
      issuesOf({ [`${spec}.taints`]: [taint], [`${spec}.startupTaints`]: [{ ...taint, value: 'other' }] }),
    ).toEqual([[`${spec}.startupTaints[0]`, 'error']]);
    expect(issuesOf({ [`${spec}.taints`]: [taint, taint] })).toEqual([[`${spec}.taints[1]`, 'error']]);
  });

  test('names longer than Kubernetes allows are refused', () => {
    const long = 'a'.repeat(64);

    expect(
      issuesOf({
        'spec.template.metadata.labels': { [long]: 'x' },
        [`${spec}.taints`]: [{ key: long, value: long, effect: 'NoSchedule' }],
        [`${spec}.requirements`]: [{ key: long, operator: 'Exists' }],
      }),
    ).toEqual([
      [`spec.template.metadata.labels.${long}`, 'error'],
      [`${spec}.taints[0].key`, 'error'],
      [`${spec}.taints[0].value`, 'error'],
      [`${spec}.requirements[0].key`, 'error'],
    ]);
  });

  test('an invalid label key is refused', () => {
    expect(issuesOf({ 'spec.template.metadata.labels': { 'a b': 'x' } })).toEqual([
      ['spec.template.metadata.labels[a b]', 'error'],
    ]);
  });

  test('requirements of one key without a common value give a warning, as Karpenter has such a NodePool Ready (node-pools/disjoint-values)', () => {
    const zone = (...values: string[]) => ({ key: 'topology.kubernetes.io/zone', operator: 'In', values });
    const all = (...each: object[]): Patch => ({ [`${spec}.requirements`]: each });

    expect(issuesOf(all(zone('a', 'b'), zone('b')))).toEqual([]);
    expect(issuesOf(all(zone('a'), zone('b'), zone('c')))).toEqual([[`${spec}.requirements[1].values`, 'warning']]);
  });

  test.each<[string, object[], number | undefined]>([
    [
      'bounds that cross',
      [
        { operator: 'Gt', values: ['8'] },
        { operator: 'Lt', values: ['4'] },
      ],
      1,
    ],
    [
      'bounds with nothing between',
      [
        { operator: 'Gt', values: ['3'] },
        { operator: 'Lt', values: ['4'] },
      ],
      1,
    ],
    [
      'bounds that meet',
      [
        { operator: 'Gte', values: ['4'] },
        { operator: 'Lte', values: ['4'] },
      ],
      undefined,
    ],
    [
      'long bounds',
      [
        { operator: 'Gt', values: ['900719925474099300'] },
        { operator: 'Lte', values: ['900719925474099301'] },
      ],
      undefined,
    ],
    [
      'a list outside of bounds',
      [
        { operator: 'In', values: ['9', 'x'] },
        { operator: 'Lt', values: ['9'] },
      ],
      1,
    ],
    [
      'a list partly within bounds',
      [
        { operator: 'Lt', values: ['9'] },
        { operator: 'In', values: ['8', '9'] },
      ],
      undefined,
    ],
    [
      'a list that is excluded',
      [{ operator: 'Exists' }, { operator: 'In', values: ['a'] }, { operator: 'NotIn', values: ['a'] }],
      2,
    ],
    ['a label that must not be there', [{ operator: 'NotIn', values: ['a'] }, { operator: 'DoesNotExist' }], undefined],
  ])(
    '%s: the first requirement that leaves no value gives a warning (node-pools/disjoint-values)',
    (_, list, expected) => {
      const requirements = list.map((each) => ({ key: 'example.com/size', ...each }));
      const found = issuesOf({ [`${spec}.requirements`]: requirements });
      expect(found).toEqual(expected === undefined ? [] : [[`${spec}.requirements[${expected}].values`, 'warning']]);
    },
  );

  test('a label that must exist and must not gives a warning at the operator (node-pools/disjoint-values)', () => {
    const requirements = ['Exists', 'DoesNotExist'].map((operator) => ({ key: 'example.com/size', operator }));
    expect(issuesOf({ [`${spec}.requirements`]: requirements })).toEqual([
      [`${spec}.requirements[1].operator`, 'warning'],
    ]);
  });

  test('labels with a closed set of values: some unknown values give a warning, none known an error (node-pools/closed-value-sets)', () => {
    const key = 'karpenter.sh/capacity-type';
    const at = `${spec}.requirements[0].values`;

    expect(issuesOf(requirement({ key, values: ['spot', 'bogus'] }))).toEqual([[at, 'warning']]);
    expect(issuesOf(requirement({ key, values: ['bogus'] }))).toEqual([[at, 'error']]);
    expect(issuesOf(requirement({ key, values: ['spot', 'bogus'], minValues: 2 }))).toEqual([[at, 'error']]);
    expect(issuesOf(requirement({ key, values: ['spot', 'on-demand', 'reserved'], minValues: 3 }))).toEqual([]);
    expect(issuesOf(requirement({ key, operator: 'NotIn', values: ['bogus'] }))).toEqual([]);
    expect(issuesOf(requirement({ key: 'karpenter.k8s.aws/instance-tenancy', values: ['host'] }))).toEqual([
      [at, 'error'],
    ]);
    expect(issuesOf(requirement({ key: 'kubernetes.io/arch', values: ['riscv64'] }))).toEqual([]);
  });

  test('an invalid cron schedule that the CRD accepts is refused', () => {
    const budgets = [{ nodes: '1' }, { nodes: '1', schedule: '61 9 * * *', duration: '8h' }];

    expect(nodePoolIssues(nodePools.mustParse(build('NodePool', { 'spec.disruption.budgets': budgets })))).toEqual([
      {
        path: 'spec.disruption.budgets[1].schedule',
        found: '61 9 * * *',
        allowed: 'a cron expression of five fields, or one of the macros such as @daily',
        message:
          'spec.disruption.budgets[1].schedule: minute "61" is not within 0 to 59 (found "61 9 * * *"), ' +
          'allowed: a cron expression of five fields, or one of the macros such as @daily',
        severity: 'error',
      },
    ]);
  });

  // Rule `node-pools/checks-beyond-the-schema`.
  test('labels that the API server refuses are refused at run time too', () => {
    const pool = nodePools.mustParse(build('NodePool'));
    pool.spec.template.spec.requirements = [
      { key: 'karpenter.sh/nodepool', operator: 'Exists' },
      { key: 'karpenter.sh/initialized', operator: 'Exists' },
    ];
    pool.spec.template.metadata = { labels: { 'karpenter.sh/nodepool': 'x', 'kubernetes.io/hostname': 'x' } };

    expect(nodePoolIssues(pool).map(({ path }) => path)).toEqual([
      'spec.template.metadata.labels[karpenter.sh/nodepool]',
      'spec.template.metadata.labels[kubernetes.io/hostname]',
      `${spec}.requirements[1].key`,
      `${spec}.requirements[0].key`,
    ]);
  });
});

// Rule `node-pools/restricted-keys`.
test.each([
  ['team', false],
  ['example.com/team', false],
  ['karpenter.sh/capacity-type', false],
  ['karpenter.k8s.aws/instance-family', false],
  ['topology.k8s.aws/zone-id', false],
  ['node.kubernetes.io/role', false],
  ['mykarpenter.sh/team', false],
  ['karpenter.sh/initialized', true],
  ['sub.karpenter.sh/team', true],
  ['karpenter.k8s.aws/colour', true],
  ['kubernetes.io/hostname', true],
])('the label %s is restricted: %s', (key, restricted) => {
  expect(restrictedLabel(key) !== undefined).toBe(restricted);
});

test('a provider can have its own well-known labels', () => {
  expect(restrictedLabel('x.karpenter.sh/size', ['x.karpenter.sh/size'])).toBeUndefined();
});

describe('nodeOverlayIssues', () => {
  const overlay = (patch: Patch) => nodeOverlayIssues(nodeOverlays.mustParse(build('NodeOverlay', patch)));

  // Rule `node-overlays/checks-beyond-the-schema`.
  test('resources that instance types have cannot be overlaid', () => {
    expect(overlay({ 'spec.capacity': { 'example.com/dongle': '1' } })).toEqual([]);
    expect(overlay({ 'spec.capacity': { 'aws.amazon.com/neuron': '1' } }).map(({ path }) => path)).toEqual([
      'spec.capacity[aws.amazon.com/neuron]',
    ]);
  });

  test('requirements are validated as those of NodePools', () => {
    const bogus = { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['bogus'] };

    expect(overlay({ 'spec.requirements': [bogus] }).map(({ path }) => path)).toEqual(['spec.requirements[0].values']);
  });
});

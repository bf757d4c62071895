import { labels } from '../../../api/labels.js';
import { nodePools } from '../../../api/karpenter/node-pool.js';
import { build } from '../../integration/crd-case-helpers.js';
import { about, gives, same, type ConformanceCase } from '../conformance-case.js';
import { casesOf, changes, judged, valuesOf } from './judge.js';
import {
  badKeys,
  below,
  goodKeys,
  goodTaints,
  lists,
  longKeys,
  named,
  ninetyTypes,
  notNumbers,
  overlapping,
  requirement,
  restrictedDomains,
  supported,
  tainted,
  twoEffects,
  upstreamDomains,
  wellKnown,
  withLeast,
} from './terms.js';

const kind = 'NodePool';
const disruption = 'spec.disruption';
const template = 'spec.template.spec';
const expiry = valuesOf(kind, `${template}.expireAfter`);
const grace = valuesOf(kind, `${template}.terminationGracePeriod`);
const after = valuesOf(kind, `${disruption}.consolidateAfter`);
const policy = valuesOf(kind, `${disruption}.consolidationPolicy`);
const whole = casesOf(kind, disruption);
const budgets = casesOf(kind, `${disruption}.budgets`);
const taints = casesOf(kind, `${template}.taints`);
const requirements = casesOf(kind, `${template}.requirements`);
const templateLabels = casesOf(kind, 'spec.template.metadata.labels');
const classRef = (field: string) => casesOf(kind, `${template}.nodeClassRef.${field}`);

const twenty = { nodes: '10', schedule: '* * * * *', duration: '20m' };
const budget = (
  at: number,
  title: string,
  expected: 'accepted' | 'refused',
  ...fields: readonly object[]
): ConformanceCase => budgets(at, title, expected, fields);
const reasons = (at: number, expected: 'accepted' | 'refused', ...given: readonly string[]): ConformanceCase =>
  budget(at, `a budget of ${JSON.stringify(given)}`, expected, { ...twenty, reasons: given });
const consolidation = (consolidateAfter: string, consolidationPolicy: string): object => ({
  consolidateAfter,
  consolidationPolicy,
});
const anyLabel = (keys: readonly string[]): object[] => keys.map((key) => ({ [key]: 'test-value' }));
/** What the API server stores of a pool without `disruption`. */
const stored = (patch: Readonly<Record<string, unknown>> = {}): unknown => {
  const parsed = nodePools.parse(build(kind, patch));
  return parsed.ok ? parsed.value.spec.disruption : parsed.error;
};
const defaults = {
  consolidateAfter: '0s',
  consolidationPolicy: 'WhenEmptyOrUnderutilized',
  budgets: [{ nodes: '10%' }],
};

const disruptionCases: readonly ConformanceCase[] = about('NodePool validation of disruption', [
  ...expiry('expireAfter', 'accepted', { 71: 'Never', 84: '30s', 85: '1h30m5s', 86: 'Never' }),
  ...expiry('expireAfter', 'refused', { 96: '-1s', 97: '1hr', 98: 'FooNever' }),
  ...after('consolidateAfter', 'accepted', { 100: 'Never', 112: '30s', 113: '1h30m5s', 114: 'Never' }),
  ...after('consolidateAfter', 'refused', { 124: '-1s', 125: '1hr', 126: 'FooNever' }),
  whole(128, 'a time and WhenEmpty', 'accepted', consolidation('30s', 'WhenEmpty')),
  whole(133, 'a time and WhenEmptyOrUnderutilized', 'accepted', consolidation('30s', 'WhenEmptyOrUnderutilized')),
  whole(138, 'Never and WhenEmptyOrUnderutilized', 'accepted', consolidation('Never', 'WhenEmptyOrUnderutilized')),
  whole(143, 'Never and WhenEmpty', 'accepted', consolidation('Never', 'WhenEmpty')),
  same(
    148,
    'consolidateAfter that is left out',
    gives(() => stored({ [`${disruption}.consolidationPolicy`]: 'WhenEmptyOrUnderutilized' }), defaults),
  ),
  ...policy('consolidationPolicy', 'accepted', { 168: 'WhenEmpty', 169: 'WhenEmptyOrUnderutilized', 170: 'Balanced' }),
  ...policy('consolidationPolicy, later', 'accepted', {
    197: 'WhenEmpty',
    198: 'WhenEmptyOrUnderutilized',
    199: 'Balanced',
  }),
  ...policy('consolidationPolicy', 'refused', { 180: '1', 181: '2', 182: '3', 183: '0', 184: '4', 185: '10' }),
  ...policy('consolidationPolicy', 'refused', { 186: 'balanced', 187: 'whenempty', 188: '', 189: 'WhenUnderutilized' }),
  ...policy('consolidationPolicy', 'refused', { 190: 'foobar' }),
]);

const budgetSchemaCases: readonly ConformanceCase[] = about('NodePool validation of budgets', [
  budget(201, 'a schedule of one field', 'refused', { ...twenty, schedule: '*' }),
  budget(209, 'a schedule of four fields', 'refused', { ...twenty, schedule: '* * * * ' }),
  budget(217, 'a duration below nothing', 'refused', { ...twenty, duration: '-20m' }),
  budget(225, 'a duration in seconds', 'refused', { ...twenty, duration: '30s' }),
  budget(233, 'nodes below zero', 'refused', { nodes: '-10' }),
  budget(239, 'a percentage below zero', 'refused', { nodes: '-10%' }),
  budget(245, 'a percentage of four digits', 'refused', { nodes: '1000%' }),
  budget(251, 'a schedule without a duration', 'refused', { nodes: '10', schedule: '* * * * *' }),
  budget(258, 'a duration without a schedule', 'refused', { nodes: '10', duration: '20m' }),
  budget(265, 'both', 'accepted', twenty),
  budget(273, 'hours and minutes', 'accepted', { ...twenty, duration: '2h20m' }),
  budget(281, 'neither', 'accepted', { nodes: '10' }),
  budget(287, 'a macro', 'accepted', { ...twenty, schedule: '@annually' }),
  budget(
    295,
    'two, of which one has no schedule',
    'refused',
    { ...twenty, schedule: '@annually' },
    {
      ...twenty,
      schedule: '*',
    },
  ),
  budget(309, 'three, of which one has only a duration', 'refused', { nodes: '10', duration: '20m' }, twenty, {
    nodes: '10',
  }),
  reasons(335, 'accepted', 'Drifted'),
  reasons(336, 'accepted', 'Underutilized'),
  reasons(337, 'accepted', 'Empty'),
  reasons(349, 'refused', 'invalid'),
  reasons(350, 'refused', 'expired'),
  reasons(351, 'refused', ''),
  reasons(354, 'accepted', 'Drifted', 'Empty'),
]);

const taintCases: readonly ConformanceCase[] = about('NodePool validation of taints', [
  taints(365, 'taints', 'accepted', [...goodTaints, ...tainted(goodKeys.slice(0, 3)).flat()]),
  taints(378, 'taints whose keys are none', 'refused', ...tainted(badKeys)),
  taints(395, 'taints whose keys are too long', 'invalid', ...tainted(longKeys)),
  taints(406, 'a taint without a key', 'refused', [{ effect: 'NoSchedule' }]),
  taints(411, 'a taint whose value is none', 'refused', [{ key: 'k', value: '???', effect: 'NoSchedule' }]),
  taints(416, 'a taint whose effect is none', 'refused', [{ key: 'k', effect: '???' }]),
  taints(421, 'one key with two effects', 'accepted', twoEffects),
]);

const exists = (keys: readonly string[]): object[][] => keys.map((key) => [requirement(key)]);
const requirementCases: readonly ConformanceCase[] = about('NodePool validation of requirements', [
  requirements(431, 'keys', 'accepted', exists(goodKeys).flat()),
  requirements(441, 'keys that are none', 'refused', ...exists(badKeys)),
  requirements(458, 'keys that are too long', 'invalid', ...exists(longKeys)),
  requirements(469, 'the label of the NodePool', 'refused', [requirement(labels.nodePool, 'In', ['x'])]),
  requirements(475, 'operators', 'accepted', supported),
  requirements(486, 'an operator that is none', 'refused', [requirement(labels.zone, 'unknown', ['test'])]),
  requirements(495, 'reserved domains', 'refused', ...lists(named(restrictedDomains))),
  requirements(504, 'the host name', 'refused', ...lists([`${labels.hostname}/test`, labels.hostname])),
  requirements(513, "Kubernetes' domains", 'accepted', ...lists(named(upstreamDomains))),
  requirements(525, "below Kubernetes' domains", 'accepted', ...lists(named(below(upstreamDomains)))),
  requirements(537, 'well-known labels', 'accepted', ...lists(wellKnown)),
  requirements(550, 'lists that leave one value', 'accepted', overlapping),
  requirements(558, 'none', 'accepted', []),
  requirements(563, 'numbers that Gt and Lt cannot take', 'refused', ...notNumbers('Gt', 'Lt')),
  requirements(579, 'numbers that Gte and Lte cannot take', 'refused', ...notNumbers('Gte', 'Lte')),
  requirements(595, 'minValues below zero', 'refused', withLeast(-1)),
  requirements(601, 'minValues of zero', 'refused', withLeast(0)),
  requirements(607, 'minValues above 50', 'refused', withLeast(51, 'Exists')),
  requirements(613, '90 values without minValues', 'accepted', ninetyTypes),
  requirements(623, 'more minValues than values', 'refused', withLeast(2)),
]);

const labelCases: readonly ConformanceCase[] = about('NodePool validation of labels', [
  templateLabels(631, 'any label', 'accepted', { foo: 'bar' }),
  templateLabels(636, 'the label of the NodePool', 'refused', { [labels.nodePool]: 'x' }),
  templateLabels(641, 'a key that is none, which no schema looks at', 'invalid', { 'spaces are not allowed': 'x' }),
  templateLabels(646, 'keys that are too long', 'invalid', ...anyLabel(longKeys)),
  templateLabels(657, 'a value that is none', 'refused', { foo: '/ is not allowed' }),
  templateLabels(662, 'reserved domains', 'refused', ...anyLabel(named(restrictedDomains, 'unknown'))),
  templateLabels(669, 'labels of kOps', 'accepted', { 'kops.k8s.io/instancegroup': 'nodes', 'kops.k8s.io/gpu': '1' }),
  templateLabels(677, "the names of Kubernetes' domains", 'accepted', ...anyLabel(upstreamDomains)),
  templateLabels(689, "Kubernetes' domains", 'accepted', ...anyLabel(named(upstreamDomains, 'key'))),
  templateLabels(701, "names below Kubernetes' domains", 'accepted', ...anyLabel(below(upstreamDomains))),
  templateLabels(713, "below Kubernetes' domains", 'accepted', ...anyLabel(named(below(upstreamDomains), 'key'))),
]);

const classRefCases: readonly ConformanceCase[] = about('NodePool validation of nodeClassRef', [
  ...grace('terminationGracePeriod', 'accepted', { 735: '30s', 736: '1h30m5s' }),
  ...grace('terminationGracePeriod', 'refused', { 746: '-1s', 747: '1hr', 748: 'Never', 749: 'FooNever' }),
  same(753, 'another group', changes(kind, {}, { [`${template}.nodeClassRef.group`]: 'other.sh' }, false)),
  same(758, 'another kind', changes(kind, {}, { [`${template}.nodeClassRef.kind`]: 'Other' }, false)),
  classRef('group')(763, 'no group', 'refused', '', undefined),
  classRef('kind')(767, 'no kind', 'refused', '', undefined),
  classRef('name')(771, 'no name', 'refused', '', undefined),
]);

const fixed = (at: number, title: string, more: Readonly<Record<string, unknown>>, good = true): ConformanceCase =>
  same(
    at,
    `a static pool with ${title}`,
    judged(kind, good ? 'accepted' : 'refused', { 'spec.replicas': 10, ...more }),
  );
const shifts = [
  { nodes: '20%', schedule: '0 9 * * mon-fri', duration: '8h', reasons: ['Drifted', 'Empty'] },
  { nodes: '30%', schedule: '0 22 * * sat,sun', duration: '4h', reasons: ['Underutilized'] },
  { nodes: '5' },
];
const many = [
  { ...requirement(labels.instanceType, 'In', ['m5.large', 'm5.xlarge', 'c5.large', 'r5.large']), minValues: 3 },
  requirement(labels.zone, 'In', ['us-west-2a', 'us-west-2b']),
  requirement(labels.capacityType, 'In', ['on-demand', 'spot']),
  requirement(labels.arch, 'In', ['amd64']),
  requirement('karpenter.k8s.aws/instance-memory', 'Gt', ['8192']),
  requirement('karpenter.k8s.aws/instance-cpu', 'Lt', ['64']),
];
const replicas = casesOf(kind, 'spec.replicas');
const staticCases: readonly ConformanceCase[] = about('NodePool validation of replicas', [
  replicas(778, 'five nodes', 'accepted', 5),
  replicas(784, 'no nodes', 'accepted', 0),
  replicas(790, 'a thousand nodes', 'accepted', 1000),
  replicas(798, 'fewer nodes than none', 'refused', -100),
  fixed(810, 'a limit of CPU', { 'spec.limits': { cpu: '1000' } }, false),
  fixed(815, 'a limit of memory', { 'spec.limits': { memory: '2000Gi' } }, false),
  fixed(820, 'a limit of pods', { 'spec.limits': { pods: '10' } }, false),
  fixed(825, 'a limit of ephemeral storage', { 'spec.limits': { 'ephemeral-storage': '10Gi' } }, false),
  fixed(830, 'a weight', { 'spec.weight': 25 }, false),
  fixed(842, 'a limit of nodes', { 'spec.limits': { nodes: '100' } }),
  fixed(847, 'several budgets', {
    [disruption]: { ...consolidation('5m', 'WhenEmptyOrUnderutilized'), budgets: shifts },
  }),
  fixed(868, 'labels', { 'spec.template.metadata.labels': { environment: 'production' } }),
  fixed(873, 'annotations', { 'spec.template.metadata.annotations': { 'example.com/last-updated': '2024-01-01' } }),
  fixed(878, 'taints', { [`${template}.taints`]: [{ key: 'gpu', value: 'on', effect: 'NoSchedule' }] }),
  fixed(883, 'startup taints', {
    [`${template}.startupTaints`]: [{ key: 'a.com/b', value: 'true', effect: 'NoSchedule' }],
  }),
  fixed(888, 'requirements', { [`${template}.requirements`]: many }),
  fixed(898, 'an expiry', { [`${template}.expireAfter`]: '72h' }),
  fixed(901, 'a grace period', { [`${template}.terminationGracePeriod`]: '5m' }),
  fixed(906, 'no consolidateAfter', { [disruption]: {} }),
  same(917, 'more replicas', changes(kind, { 'spec.replicas': 3 }, { 'spec.replicas': 5 }, true)),
  same(928, 'from static to dynamic', changes(kind, { 'spec.replicas': 3 }, { 'spec.replicas': undefined }, false)),
  same(938, 'from dynamic to static', changes(kind, {}, { 'spec.replicas': 3 }, false)),
  same(
    947,
    'another limit of nodes',
    changes(kind, { 'spec.replicas': 3, 'spec.limits': { nodes: '10' } }, { 'spec.limits': { nodes: '100' } }, true),
  ),
]);

/** pkg/apis/v1/nodepool_validation_cel_test.go */
export const nodePoolCases: readonly ConformanceCase[] = [
  ...disruptionCases,
  ...budgetSchemaCases,
  ...taintCases,
  ...requirementCases,
  ...labelCases,
  ...classRefCases,
  ...staticCases,
];

/** pkg/apis/v1/nodepool_default_test.go */
export const nodePoolDefaultCases: readonly ConformanceCase[] = about('NodePool defaults', [
  same(
    60,
    'a pool without disruption',
    gives(() => stored(), defaults),
  ),
]);

const capacityType = (
  at: number,
  title: string,
  expected: 'accepted' | 'invalid',
  ...values: readonly string[]
): ConformanceCase => requirements(at, title, expected, [requirement(labels.capacityType, 'In', values)]);
/** pkg/controllers/nodepool/validation/suite_test.go */
export const nodePoolLaterCases: readonly ConformanceCase[] = about('NodePool validation at run time', [
  capacityType(71, 'capacity types of which none is known', 'invalid', 'xspot'),
  capacityType(84, 'capacity types', 'accepted', 'spot', 'on-demand'),
  capacityType(98, 'capacity types of which one is known', 'accepted', 'xspot', 'on-demand'),
]);

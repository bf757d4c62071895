import { awsLabelDomain } from '../../../api/aws/labels.js';
import { coreWellKnownLabels, labels } from '../../../api/labels.js';
import { many } from '../../integration/crd-case-helpers.js';

/** Values of fields that several kinds share, as Karpenter's suites try them. */
export const requirement = (key: string, operator = 'Exists', values?: readonly string[]): object => ({
  key,
  operator,
  ...(values !== undefined && { values }),
});

export const lists = (keys: readonly string[], values = ['test']): object[][] =>
  keys.map((key) => [requirement(key, 'In', values)]);

export const supported = [
  requirement(labels.zone, 'In', ['test']),
  requirement(labels.zone, 'Gt', ['1']),
  requirement(labels.zone, 'Lt', ['1']),
  requirement(labels.zone, 'NotIn'),
  requirement(labels.zone),
];
export const overlapping = [
  requirement(labels.zone, 'In', ['test', 'foo']),
  requirement(labels.zone, 'NotIn', ['test', 'bar']),
];
/** Each operator with no value, two, one that is no number, and one below zero. */
export const notNumbers = (...operators: readonly string[]): object[][] =>
  operators.flatMap((operator) =>
    [[], ['1', '2'], ['a'], ['-1']].map((values) => [requirement(labels.zone, operator, values)]),
  );
export const withLeast = (minValues: number, operator = 'In'): object[] => [
  {
    ...requirement(labels.instanceType, operator, operator === 'In' ? ['one'] : undefined),
    minValues,
  },
];
export const ninetyTypes = [
  requirement(
    labels.instanceType,
    'In',
    many(90, (i) => `t${i}`),
  ),
];

export const restrictedDomains = ['karpenter.sh', awsLabelDomain];
export const upstreamDomains = ['kubernetes.io', 'k8s.io'];
export const below = (domains: readonly string[]): string[] => domains.map((domain) => `subdomain.${domain}`);
export const named = (domains: readonly string[], name = 'test'): string[] =>
  domains.map((domain) => `${domain}/${name}`);
export const wellKnown = coreWellKnownLabels.filter((key) => key !== labels.nodePool && key !== labels.capacityType);

export const goodKeys = ['Test', 'test.com/Test', 'test.com.com/test', 'key-only'];
export const badKeys = ['test.com.com}', 'Test.com/test', 'test/test/test', 'test/', '/test'];
/** Both pass the schema: what is too long is the part before the slash, or the part after it. */
export const longKeys = [`test.com.test.${'a'.repeat(250)}/test`, `test.com.test/test-${'a'.repeat(250)}`];

export const goodTaints = [
  { key: 'a', value: 'b', effect: 'NoSchedule' },
  { key: 'c', value: 'd', effect: 'NoExecute' },
  { key: 'e', value: 'f', effect: 'PreferNoSchedule' },
  { key: 'key-only', effect: 'NoExecute' },
];
export const twoEffects = [
  { key: 'a', effect: 'NoSchedule' },
  { key: 'a', effect: 'NoExecute' },
];
export const tainted = (keys: readonly string[]): object[][] => keys.map((key) => [{ key, effect: 'NoSchedule' }]);

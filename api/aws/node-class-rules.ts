import { issue, type Issue } from '../schema/issues.js';
import type { AmiFamily, EC2NodeClass, EC2NodeClassSpec } from './ec2-node-class.js';
import { lookUp } from '../../core/own.js';
import { quantityPattern } from '../schema/fields.js';
import {
  type KubeletFieldKind,
  kubeletFields,
  type KubeletFields,
  type KubeletForm,
  understoodKubeletFields,
} from './kubelet-fields.js';

/** `spec.kubelet` of an EC2NodeClass: any JSON object. */
export type Kubelet = Readonly<Record<string, unknown>>;

/** The condition reason for invalid kubelet settings (node-classes/kubelet-checks). */
type KubeletReason = 'InvalidKubeletConfiguration' | 'UnsupportedKubeletConfiguration' | 'KubeletExpressionsDisabled';

interface KubeletVerdict {
  readonly reason: KubeletReason;
  readonly issues: readonly Issue[];
}

const signals: readonly string[] = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
];

const reservable: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

const root = ['spec', 'kubelet'];
const goDuration =
  /^[+-]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*)$/;
const percentage = /^([0-9]+(\.[0-9]+)?)%$/;

const isText = (value: unknown): value is string => typeof value === 'string';
const isMap = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const isAmount = (value: unknown): boolean =>
  typeof value === 'number' || (isText(value) && quantityPattern.test(value));
const isListOf = (value: unknown, test: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(test);

const forms: Readonly<Record<KubeletFieldKind, { allowed: string; test: (value: unknown) => boolean }>> = {
  boolean: { allowed: 'true or false', test: (value) => typeof value === 'boolean' },
  integer: { allowed: 'a whole number', test: Number.isInteger },
  number: { allowed: 'a number', test: (value) => typeof value === 'number' },
  string: { allowed: 'text', test: isText },
  duration: { allowed: 'a duration such as 10s', test: (value) => isText(value) && goDuration.test(value) },
  strings: { allowed: 'a list of strings', test: (value) => isListOf(value, isText) },
  integers: { allowed: 'a list of whole numbers', test: (value) => isListOf(value, Number.isInteger) },
  stringMap: { allowed: 'a map of strings', test: (value) => isMap(value) && Object.values(value).every(isText) },
  booleanMap: {
    allowed: 'a map of true or false',
    test: (value) => isMap(value) && Object.values(value).every((each) => typeof each === 'boolean'),
  },
  stringsMap: {
    allowed: 'a map of lists of strings',
    test: (value) => isMap(value) && Object.values(value).every((each) => isListOf(each, isText)),
  },
  quantity: { allowed: 'a quantity such as 100Mi', test: isAmount },
  quantityMap: {
    allowed: 'a map of quantities',
    test: (value) => isMap(value) && Object.values(value).every(isAmount),
  },
  moment: {
    allowed: 'a duration such as 10s, or nanoseconds',
    test: (value) => Number.isInteger(value) || (isText(value) && goDuration.test(value)),
  },
};

const isQuantity = (text: string): boolean => quantityPattern.test(text);

/** An expression replaces a number or quantity and is neither (gate NodeClassCEL). */
function expressionFields(kubelet: Kubelet): (readonly string[])[] {
  const found: (readonly string[])[] = isText(kubelet['maxPods']) ? [['maxPods']] : [];
  for (const name of ['kubeReserved', 'systemReserved']) {
    const inner = lookUp(kubelet, name);
    for (const [key, value] of Object.entries(isMap(inner) ? inner : {})) {
      if (isText(value) && !isQuantity(value)) found.push([name, key]);
    }
  }
  return found;
}

/** What decoding into KubeletConfiguration would reject: unknown fields and wrong types, at any depth. */
function decodingIssues(kubelet: Kubelet): Issue[] {
  const isExpression = isText(kubelet['maxPods']);
  return fieldIssues(root, kubelet, isExpression ? { ...kubeletFields, maxPods: 'string' } : kubeletFields);
}

function fieldIssues(at: readonly string[], found: Kubelet, fields: KubeletFields): Issue[] {
  return Object.entries(found).flatMap(([name, value]) => {
    const form = lookUp(fields, name);
    if (form !== undefined) return formIssues([...at, name], value, form);
    return [
      issue([...at, name], value, 'a field of KubeletConfiguration kubelet.config.k8s.io/v1beta1', 'unknown field'),
    ];
  });
}

function formIssues(at: readonly string[], value: unknown, form: KubeletForm): Issue[] {
  if (typeof form === 'string') return forms[form].test(value) ? [] : [issue(at, value, forms[form].allowed)];
  if ('fields' in form) return isMap(value) ? fieldIssues(at, value, form.fields) : [issue(at, value, 'an object')];
  if (!Array.isArray(value)) return [issue(at, value, 'a list of objects')];
  return value.flatMap((each, i) => formIssues([...at, String(i)], each, { fields: form.each }));
}

function textMap(kubelet: Kubelet, name: string): Record<string, string> {
  const value = lookUp(kubelet, name);
  if (!isMap(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => isText(entry[1])));
}

function isThreshold(text: string): boolean {
  const share = percentage.exec(text)?.[1];
  if (share !== undefined) return Number(share) <= 100;
  return isQuantity(text) && !text.startsWith('-');
}

function evictionIssues(kubelet: Kubelet): Issue[] {
  const issues: Issue[] = [];
  for (const name of ['evictionHard', 'evictionSoft', 'evictionMinimumReclaim']) {
    for (const [signal, threshold] of Object.entries(textMap(kubelet, name))) {
      const at = [...root, name, signal];
      if (!signals.includes(signal)) issues.push(issue(at, signal, `one of ${signals.join(', ')}`, 'unknown signal'));
      if (!isThreshold(threshold)) issues.push(issue(at, threshold, '0% to 100%, or a quantity that is not negative'));
    }
  }
  const soft = Object.keys(textMap(kubelet, 'evictionSoft'));
  const grace = Object.entries(textMap(kubelet, 'evictionSoftGracePeriod'));
  for (const [signal, period] of grace) {
    const at = [...root, 'evictionSoftGracePeriod', signal];
    if (!signals.includes(signal)) issues.push(issue(at, signal, `one of ${signals.join(', ')}`, 'unknown signal'));
    if (!goDuration.test(period) || period.startsWith('-'))
      issues.push(issue(at, period, 'a duration such as 1m30s that is not negative'));
    if (!soft.includes(signal)) issues.push(issue(at, period, 'signals of evictionSoft', 'no such evictionSoft'));
  }
  for (const signal of soft.filter((each) => !grace.some(([name]) => name === each))) {
    const at = [...root, 'evictionSoft', signal];
    issues.push(issue(at, signal, 'signals of evictionSoftGracePeriod', 'no such evictionSoftGracePeriod'));
  }
  return issues;
}

function reservedIssues(kubelet: Kubelet): Issue[] {
  return ['kubeReserved', 'systemReserved'].flatMap((name) =>
    Object.entries(textMap(kubelet, name)).flatMap(([key, amount]) => {
      const at = [...root, name, key];
      const issues = reservable.includes(key)
        ? []
        : [issue(at, key, `one of ${reservable.join(', ')}`, 'unknown resource')];
      if (isQuantity(amount) && amount.startsWith('-'))
        issues.push(issue(at, amount, 'a quantity that is not negative'));
      return issues;
    }),
  );
}

function numberIssues(kubelet: Kubelet): Issue[] {
  const issues: Issue[] = [];
  const bounds: readonly (readonly [string, number])[] = [
    ['podsPerCore', Number.POSITIVE_INFINITY],
    ['evictionMaxPodGracePeriod', Number.POSITIVE_INFINITY],
    ['maxPods', Number.POSITIVE_INFINITY],
    ['imageGCHighThresholdPercent', 100],
    ['imageGCLowThresholdPercent', 100],
  ];
  for (const [name, most] of bounds) {
    const value = lookUp(kubelet, name);
    if (typeof value !== 'number' || (value >= 0 && value <= most)) continue;
    issues.push(issue([...root, name], value, most === 100 ? '0 to 100' : '0 or more'));
  }
  const [high, low] = [kubelet['imageGCHighThresholdPercent'], kubelet['imageGCLowThresholdPercent']];
  if (typeof high === 'number' && typeof low === 'number' && high <= low) {
    issues.push(issue([...root, 'imageGCHighThresholdPercent'], high, `more than imageGCLowThresholdPercent, ${low}`));
  }
  return issues;
}

function bannedIssues(kubelet: Kubelet): Issue[] {
  if (kubelet['registerWithTaints'] === undefined) return [];
  const at = [...root, 'registerWithTaints'];
  return [
    issue(at, kubelet['registerWithTaints'], 'taints of the NodePool', 'the NodePool defines the taints of nodes'),
  ];
}

/** Settings that the user data of an image family does not support. `Custom` is not checked. */
function unsupportedIssues(kubelet: Kubelet, family: AmiFamily): Issue[] {
  if (family === 'AL2023' || family === 'Custom') return [];
  const allowed = `${understoodKubeletFields.join(', ')} on ${family}; any field on AL2023`;
  const issues = Object.keys(kubelet)
    .filter((name) => !understoodKubeletFields.includes(name))
    .map((name) => issue([...root, name], lookUp(kubelet, name), allowed));
  if (family === 'Bottlerocket' && kubelet['podsPerCore'] !== undefined) {
    issues.push(issue([...root, 'podsPerCore'], kubelet['podsPerCore'], 'nothing: Bottlerocket has no such setting'));
  }
  const dns = kubelet['clusterDNS'];
  if (Array.isArray(dns) && dns.length > 1)
    issues.push(issue([...root, 'clusterDNS'], dns, `one address on ${family}`));
  return issues;
}

/**
 * The first error that makes the kubelet settings of a node class invalid for its resolved image family, or undefined
 * (node-classes/kubelet-checks, node-classes/soft-eviction-in-pairs, node-classes/fields-of-al2023-alone). With
 * `expressions` (gate NodeClassCEL) `maxPods` and reserved amounts may be expressions, which the provider evaluates.
 */
export function kubeletVerdict(
  kubelet: Kubelet | undefined,
  family: AmiFamily,
  expressions = false,
): KubeletVerdict | undefined {
  if (kubelet === undefined) return undefined;
  const invalid = [
    ...decodingIssues(kubelet),
    ...bannedIssues(kubelet),
    ...evictionIssues(kubelet),
    ...reservedIssues(kubelet),
    ...numberIssues(kubelet),
  ];
  if (invalid.length > 0) return { reason: 'InvalidKubeletConfiguration', issues: invalid };
  const written = expressions ? [] : expressionFields(kubelet);
  if (written.length > 0) {
    const issues = written.map((path) => {
      const found = path.reduce<unknown>((at, name) => lookUp(at as Record<string, unknown>, name), kubelet);
      return issue([...root, ...path], found, 'a number or quantity; expressions need feature gate NodeClassCEL');
    });
    return { reason: 'KubeletExpressionsDisabled', issues };
  }
  const unsupported = unsupportedIssues(kubelet, family);
  return unsupported.length > 0 ? { reason: 'UnsupportedKubeletConfiguration', issues: unsupported } : undefined;
}

const familyOfAlias: Readonly<Record<string, AmiFamily>> = {
  al2: 'AL2',
  al2023: 'AL2023',
  bottlerocket: 'Bottlerocket',
  windows2019: 'Windows2019',
  windows2022: 'Windows2022',
  windows2025: 'Windows2025',
};

/** The parsed alias of a node class; undefined if it has none. */
export function amiAlias(
  spec: Pick<EC2NodeClassSpec, 'amiSelectorTerms'>,
): { readonly family: AmiFamily; readonly version: string } | undefined {
  const alias = spec.amiSelectorTerms.find((term) => term.alias !== undefined)?.alias;
  if (alias === undefined) return undefined;
  const at = alias.indexOf('@');
  const family = lookUp(familyOfAlias, alias.slice(0, at));
  return family === undefined ? undefined : { family, version: alias.slice(at + 1) };
}

/**
 * The image family that determines user data and disks: the field, otherwise the alias's
 * (node-classes/family-in-effect).
 */
export function resolvedAmiFamily(spec: Pick<EC2NodeClassSpec, 'amiFamily' | 'amiSelectorTerms'>): AmiFamily {
  return spec.amiFamily ?? amiAlias(spec)?.family ?? 'Custom';
}

/** The result of checking the kubelet settings of a parsed node class for its resolved family. */
export function ec2NodeClassKubeletVerdict({ spec }: EC2NodeClass, expressions = false): KubeletVerdict | undefined {
  return kubeletVerdict(spec.kubelet, resolvedAmiFamily(spec), expressions);
}

import type { LabelSelector, NodeSelector, Taint, Toleration } from '../../api/kubernetes.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

/**
 * The values that a label may have on a node: one for a node that exists, several while a claim leaves the choice open,
 * undefined when it has no such label.
 */
export type LabelDomain = (key: string) => readonly string[] | undefined;

const aliases: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
  'topology.ebs.csi.aws.com/zone': 'topology.kubernetes.io/zone',
};

/** The label key that is meant by an older one. */
export function normalKey(key: string): string {
  return aliases[key] ?? key;
}

/** Whether a label of `value` (undefined: no such label) satisfies a node selector requirement. */
export function valueSatisfies(value: string | undefined, requirement: WrittenRequirement): boolean {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return value !== undefined && compares(value, requirement.operator, values[0] ?? '');
  }
}

function compares(value: string, operator: 'Gt' | 'Lt' | 'Gte' | 'Lte', bound: string): boolean {
  const [left, right] = [integer(value), integer(bound)];
  if (left === undefined || right === undefined) return false;
  switch (operator) {
    case 'Gt':
      return left > right;
    case 'Lt':
      return left < right;
    case 'Gte':
      return left >= right;
    case 'Lte':
      return left <= right;
  }
}

/** As kube-scheduler reads it: 64 bits, and nothing else. */
function integer(text: string): bigint | undefined {
  const number = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  return number === BigInt.asIntN(64, number ?? 0n) ? number : undefined;
}

/** Whether no value of a label satisfies all that a NodePool asks of it: nodes are then without it (requirements/nothing-left). */
export function leaveNothing(requirements: readonly WrittenRequirement[], key: string): boolean {
  const concerned = requirements.filter((each) => normalKey(each.key) === key);
  const named = concerned.flatMap(({ values = [] }) => values);
  const beside = named.flatMap((value) => (/^\d{1,18}$/.test(value) ? [BigInt(value) - 1n, BigInt(value) + 1n] : []));
  const probes = [...named, ...beside.map(String), 'some other value'];
  return !probes.some((value) => concerned.every((each) => valueSatisfies(value, each)));
}

/** Whether every value that the label may still take satisfies the requirement. */
export function domainSatisfies(labels: LabelDomain, requirement: WrittenRequirement): boolean {
  const values = labels(normalKey(requirement.key));
  if (values === undefined) return valueSatisfies(undefined, requirement);
  return values.every((value) => valueSatisfies(value, requirement));
}

/** Whether some value that the label may take satisfies the requirement. */
export function domainMaySatisfy(labels: LabelDomain, requirement: WrittenRequirement): boolean {
  const values = labels(normalKey(requirement.key));
  if (values === undefined) return valueSatisfies(undefined, requirement);
  return values.some((value) => valueSatisfies(value, requirement));
}

export interface NodeConstraints {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly required?: NodeSelector;
}

type Test = (labels: LabelDomain, requirement: WrittenRequirement) => boolean;

/** Node selector and required node affinity against labels; terms are alternatives, an empty term matches nothing. */
export function nodeMatches(
  labels: LabelDomain,
  nodeName: string,
  constraints: NodeConstraints,
  test: Test = domainSatisfies,
): boolean {
  for (const [key, value] of Object.entries(constraints.nodeSelector ?? {})) {
    if (!test(labels, { key, operator: 'In', values: [value] })) return false;
  }
  if (constraints.required === undefined) return true;
  return constraints.required.nodeSelectorTerms.some((term) => {
    const expressions = term.matchExpressions ?? [];
    const fields = term.matchFields ?? [];
    if (expressions.length + fields.length === 0) return false;
    return (
      expressions.every((expression) => test(labels, expression)) &&
      fields.every((field) => field.key === 'metadata.name' && valueSatisfies(nodeName, field))
    );
  });
}

/** A label selector against a label map. Undefined selects nothing, an empty selector everything. */
export function selectorMatches(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (selector === undefined) return false;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labels[key] !== value) return false;
  }
  return (selector.matchExpressions ?? []).every((expression) => valueSatisfies(labels[expression.key], expression));
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', value = '', effect = '' } = toleration;
  const operator = toleration.operator || 'Equal';
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  if (key === '') return false;
  return operator === 'Equal' ? value === (taint.value ?? '') : compares(taint.value ?? '', operator, value);
}

/** The first taint that keeps a pod with these tolerations away; PreferNoSchedule excludes no pod. */
export function untolerated(
  taints: readonly Taint[],
  tolerations: readonly Toleration[] | undefined,
): Taint | undefined {
  return taints.find(
    (taint) =>
      taint.effect !== 'PreferNoSchedule' && !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}

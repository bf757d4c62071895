import { labels } from '../labels.js';
import type { Taint } from '../kubernetes.js';
import { cronProblem } from '../schema/cron.js';
import { issue, type FieldPath, type Issue } from '../schema/issues.js';
import { isQualifiedName, qualifiedNameRule } from '../schema/names.js';
import type { NodePool, NodePoolTemplate } from './node-pool.js';
import { requirementIssues, restrictedLabel } from './requirement-rules.js';
import { int64Of } from '../../core/int64.js';
import type { WrittenRequirement } from './requirements.js';

function taintIssues(lists: readonly (readonly [FieldPath, readonly Taint[] | undefined])[]): Issue[] {
  const seen = new Set<string>();
  const issues: Issue[] = [];
  for (const [path, taints] of lists) {
    for (const [index, { key, value, effect }] of (taints ?? []).entries()) {
      const at = [...path, index];
      if (!isQualifiedName(key)) issues.push(issue([...at, 'key'], key, qualifiedNameRule));
      if (value !== undefined && value !== '' && !isQualifiedName(value)) {
        issues.push(issue([...at, 'value'], value, qualifiedNameRule));
      }
      const pair = `${key}:${effect}`;
      if (seen.has(pair)) {
        issues.push(
          issue(at, pair, 'each key and effect once in taints and startupTaints together', 'duplicate taint'),
        );
      }
      seen.add(pair);
    }
  }
  return issues;
}

function labelIssues(template: NodePoolTemplate): Issue[] {
  const path = ['spec', 'template', 'metadata', 'labels'];
  return Object.keys(template.metadata?.labels ?? {}).flatMap((key) => {
    if (!isQualifiedName(key)) return [issue([...path, key], key, qualifiedNameRule)];
    const restriction = key === labels.nodePool ? 'any label but this one, which the pool sets' : restrictedLabel(key);
    return restriction === undefined ? [] : [issue([...path, key], key, restriction)];
  });
}

/**
 * Errors and warnings of a parsed NodePool beyond what the API server rejects (node-pools/checks-beyond-the-schema):
 * each error makes `ValidationSucceeded` False with reason `NodePoolValidationFailed`; warnings are logged.
 */
export function nodePoolIssues(pool: NodePool): Issue[] {
  const { template, disruption } = pool.spec;
  const path = ['spec', 'template', 'spec'];
  const keys = template.spec.requirements.flatMap(({ key }, index) =>
    key === labels.nodePool
      ? [issue([...path, 'requirements', index, 'key'], key, 'any label but this one, which the pool sets')]
      : [],
  );
  const schedules = disruption.budgets.flatMap(({ schedule }, index) => {
    const problem = schedule === undefined ? undefined : cronProblem(schedule);
    if (problem === undefined) return [];
    const at = ['spec', 'disruption', 'budgets', index, 'schedule'];
    return [issue(at, schedule, 'a cron expression of five fields, or one of the macros such as @daily', problem)];
  });
  return [
    ...labelIssues(template),
    ...taintIssues([
      [[...path, 'taints'], template.spec.taints],
      [[...path, 'startupTaints'], template.spec.startupTaints],
    ]),
    ...requirementIssues(template.spec.requirements, [...path, 'requirements']),
    ...disjointIssues(template.spec.requirements, [...path, 'requirements']),
    ...keys,
    ...schedules,
  ];
}

/**
 * Annotation in which Karpenter 1.0 kept the kubelet settings of former v1beta1 pools. Neither later releases nor
 * Stowage read it.
 */
export const kubeletAnnotation = 'compatibility.karpenter.sh/v1beta1-kubelet-conversion';

export function kubeletInAnnotation(kubelet: string, nodeClass: string): string {
  return `the annotation of Karpenter 1.0 with kubelet settings is ignored: write spec.kubelet ${kubelet} into EC2NodeClass ${nodeClass}`;
}

/**
 * Requirements of one key that contradict each other: no node has the label, and types that have it are excluded
 * (node-pools/disjoint-values). Reports the first requirement that leaves no value.
 */
function disjointIssues(requirements: readonly WrittenRequirement[], path: FieldPath): Issue[] {
  const byKey = new Map<string, WrittenRequirement[]>();
  return requirements.flatMap((requirement, index) => {
    const { key, operator, values } = requirement;
    const before = byKey.get(key) ?? [];
    byKey.set(key, [...before, requirement]);
    if (!leaveSomething(before) || leaveSomething([...before, requirement])) return [];
    const others = before.map((each) => `${each.operator}${valuesText(each)}`).join(' and ');
    const known = `a value that the other requirements of ${key} allow: ${others}`;
    const at = values === undefined ? [...path, index, 'operator'] : [...path, index, 'values'];
    return [issue(at, values ?? operator, known, 'no node can satisfy both', 'warning')];
  });
}

const valuesText = ({ values }: WrittenRequirement): string => (values === undefined ? '' : ` [${values.join(' ')}]`);

/** Whether some value of the label, or its absence, satisfies all of them. */
function leaveSomething(requirements: readonly WrittenRequirement[]): boolean {
  if (requirements.every(({ operator }) => operator === 'NotIn' || operator === 'DoesNotExist')) return true;
  if (requirements.some(({ operator }) => operator === 'DoesNotExist')) return false;
  const named = requirements.find(({ operator }) => operator === 'In');
  if (named !== undefined)
    return (named.values ?? []).some((value) => requirements.every((each) => admits(each, value)));
  const bounds = requirements.flatMap(boundsOf);
  return bounds.every(({ atLeast }) =>
    bounds.every(({ atMost }) => atLeast === undefined || atMost === undefined || atLeast <= atMost),
  );
}

function boundsOf({ operator, values }: WrittenRequirement): { atLeast?: bigint; atMost?: bigint }[] {
  const bound = int64Of(values?.[0]);
  if (bound === undefined) return [];
  if (operator === 'Gt' || operator === 'Gte') return [{ atLeast: operator === 'Gt' ? bound + 1n : bound }];
  if (operator === 'Lt' || operator === 'Lte') return [{ atMost: operator === 'Lt' ? bound - 1n : bound }];
  return [];
}

function admits(requirement: WrittenRequirement, value: string): boolean {
  const { operator, values = [] } = requirement;
  if (operator === 'In') return values.includes(value);
  if (operator === 'NotIn') return !values.includes(value);
  if (operator === 'Exists') return true;
  const number = int64Of(value);
  if (number === undefined) return false;
  return boundsOf(requirement).every(
    ({ atLeast, atMost }) => (atLeast === undefined || number >= atLeast) && (atMost === undefined || number <= atMost),
  );
}

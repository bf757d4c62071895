import { labels } from '../labels.js';
import type { Taint } from '../kubernetes.js';
import { cronProblem } from '../schema/cron.js';
import { issue, type FieldPath, type Issue } from '../schema/issues.js';
import { isQualifiedName, qualifiedNameRule } from '../schema/names.js';
import type { NodePool, NodePoolTemplate } from './node-pool.js';
import { disjointIssues } from './disjoint-requirements.js';
import { requirementIssues, restrictedLabel } from './requirement-rules.js';

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
          issue(at, pair, 'each key and effect once in taints and startupTaints together', 'taint stands twice'),
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
 * What a controller finds wrong with a parsed NodePool beyond what the API server refuses (node-pools/checks-beyond-the-schema): each error
 * makes `ValidationSucceeded` False with reason `NodePoolValidationFailed`; warnings are logged.
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

/** Where Karpenter 1.0 kept the kubelet settings of pools that had been v1beta1. Later releases do not read it, nor is it read here. */
export const kubeletAnnotation = 'compatibility.karpenter.sh/v1beta1-kubelet-conversion';

export function kubeletInAnnotation(kubelet: string, nodeClass: string): string {
  return `kubelet settings are in an annotation of Karpenter 1.0, which is not read: write spec.kubelet ${kubelet} into EC2NodeClass ${nodeClass}`;
}

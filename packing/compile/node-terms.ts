import type { NodeSelectorRequirement, NodeSelectorTerm, PodSpec } from '../../api/kubernetes.js';
import { nothing } from '../lists.js';
import { join, noRequirements, readLabels, readRequirements, type Requirements } from '../requirements/requirements.js';

/**
 * Alternatives of which a node must satisfy one: the node selector with each required term in turn. An empty term matches no node,
 * as with kube-scheduler.
 */
export function requiredTerms(spec: PodSpec): readonly Requirements[] {
  const selector = readLabels(spec.nodeSelector);
  const terms = termsOf(spec);
  if (terms.length === 0) return [selector];
  return terms.filter((term) => !isEmptyTerm(term)).map((term) => join(selector, readTerm(term)));
}

const termsOf = ({ affinity }: PodSpec): readonly NodeSelectorTerm[] =>
  affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

const isEmptyTerm = ({ matchExpressions, matchFields }: NodeSelectorTerm): boolean =>
  (matchExpressions?.length ?? 0) + (matchFields?.length ?? 0) === 0;

export function readTerm({ matchExpressions }: NodeSelectorTerm): Requirements {
  return matchExpressions === undefined ? noRequirements : readRequirements(matchExpressions);
}

/** Preferred node terms, heaviest first; equal weights keep their order. */
export function preferredTerms(spec: PodSpec): readonly Requirements[] {
  const preferred = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  if (preferred === undefined) return nothing;
  return [...preferred].sort((a, b) => b.weight - a.weight).map(({ preference }) => readTerm(preference));
}

const operators: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']);
const numeric: ReadonlySet<string> = new Set(['Gt', 'Lt', 'Gte', 'Lte']);

/** What is wrong with the pod's own node terms, by field, or undefined. Such a pod is rejected up front (section 2.1). */
export function invalidTerm(spec: PodSpec): { subject: string; message: string } | undefined {
  const terms = termsOf(spec);
  const field = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  if (terms.length > 0 && terms.every(isEmptyTerm)) {
    return { subject: `${field}[0]`, message: 'a term without expressions matches no node' };
  }
  for (const [i, { matchFields, matchExpressions }] of terms.entries()) {
    if ((matchFields?.length ?? 0) > 0) {
      return { subject: `${field}[${i}].matchFields`, message: 'matchFields are not supported' };
    }
    for (const [j, expression] of (matchExpressions ?? []).entries()) {
      const wrong = invalidExpression(expression);
      if (wrong !== undefined) {
        return { subject: `${field}[${i}].matchExpressions[${j}].${wrong.field}`, message: wrong.message };
      }
    }
  }
  return undefined;
}

function invalidExpression({
  operator,
  values,
}: NodeSelectorRequirement): { field: string; message: string } | undefined {
  if (!operators.has(operator)) return { field: 'operator', message: `"${operator}" is no operator` };
  if (!numeric.has(operator) || /^-?\d+$/.test(values?.[0] ?? '')) return undefined;
  return { field: 'values', message: `${operator} needs one whole number` };
}

import type { NodeSelectorRequirement, NodeSelectorTerm, PodSpec } from '../../api/kubernetes.js';
import { labelValuePattern } from '../../api/schema/fields.js';
import { int64Of } from '../../core/int64.js';
import { emptyList } from '../lists.js';
import { join, noRequirements, readLabels, readRequirements, type Requirements } from '../requirements/requirements.js';

/**
 * The alternatives of which a node must satisfy one: the node selector combined with each required term. As in
 * kube-scheduler, an empty term matches no node.
 */
export function requiredTerms(spec: PodSpec): readonly Requirements[] {
  const selector = readLabels(spec.nodeSelector);
  const terms = termsOf(spec);
  if (terms.length === 0) return [selector];
  return terms.filter((term) => !isEmptyTerm(term) && !isHopeless(term)).map((term) => join(selector, readTerm(term)));
}

const termsOf = ({ affinity }: PodSpec): readonly NodeSelectorTerm[] =>
  affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

const isEmptyTerm = ({ matchExpressions, matchFields }: NodeSelectorTerm): boolean =>
  (matchExpressions?.length ?? 0) + (matchFields?.length ?? 0) === 0;

export function readTerm({ matchExpressions }: NodeSelectorTerm): Requirements {
  return matchExpressions === undefined ? noRequirements : readRequirements(matchExpressions.flatMap(legal));
}

/**
 * Node affinity may contain values that are not valid label values, since the API server does not check them. No node can have
 * such a value.
 */
const isLabelValue = (value: string): boolean => value.length <= 63 && labelValuePattern.test(value);

/** The expression without values that no node can have; no expression if it then matches every node. */
function legal(expression: NodeSelectorRequirement): readonly NodeSelectorRequirement[] {
  const { operator, values = [] } = expression;
  if ((operator !== 'In' && operator !== 'NotIn') || values.every(isLabelValue)) return [expression];
  const left = values.filter(isLabelValue);
  return operator === 'NotIn' && left.length === 0 ? [] : [{ ...expression, values: left }];
}

/** Whether no node can ever satisfy the term, because it requires a value that is not a valid label value. */
function isHopeless({ matchExpressions = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.some(({ operator, values = [] }) => operator === 'In' && !values.some(isLabelValue));
}

/** Preferred node terms that a node may satisfy, by weight; terms of equal weight keep their order. */
export function preferredTerms(spec: PodSpec): readonly Requirements[] {
  const preferred = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  if (preferred === undefined) return emptyList;
  const satisfiable = preferred.filter(
    ({ preference }) => !isHopeless(preference) && !(preference.matchExpressions ?? []).some(invalidExpression),
  );
  return satisfiable.sort((a, b) => b.weight - a.weight).map(({ preference }) => readTerm(preference));
}

const operators: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']);
const numeric: ReadonlySet<string> = new Set(['Gt', 'Lt', 'Gte', 'Lte']);

/** The error in the pod's node terms, if any. Such a pod is rejected before packing (provisioning/rejected-pods). */
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
  const hopeless = hopelessExpression(terms);
  return hopeless === undefined ? undefined : { subject: field, message: hopeless };
}

/** Why no term can match, if each requires a value that is not a valid label value. */
function hopelessExpression(terms: readonly NodeSelectorTerm[]): string | undefined {
  if (terms.length === 0 || !terms.every((term) => isEmptyTerm(term) || isHopeless(term))) return undefined;
  const found = terms
    .flatMap(({ matchExpressions = [] }) => matchExpressions)
    .find((each) => isHopeless({ matchExpressions: [each] }));
  const value = JSON.stringify(found?.values?.[0] ?? '').slice(0, 80);
  return `${found?.key ?? ''} In [${value}]: no node has it, because it is not a valid label value`;
}

function invalidExpression({
  operator,
  values,
}: NodeSelectorRequirement): { field: string; message: string } | undefined {
  if (!operators.has(operator)) return { field: 'operator', message: `"${operator}" is not an operator` };
  if (!numeric.has(operator) || int64Of(values?.[0]) !== undefined) return undefined;
  return { field: 'values', message: `${operator} needs one whole number of at most 64 bits` };
}

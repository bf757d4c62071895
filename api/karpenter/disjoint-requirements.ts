import { int64Of } from '../../core/int64.js';
import { issue, type FieldPath, type Issue } from '../schema/issues.js';
import type { NodePoolTemplate } from './node-pool.js';

type Requirement = NodePoolTemplate['spec']['requirements'][number];

/**
 * Requirements of one key that contradict each other: no node has the label, and types that have it are left out
 * (node-pools/disjoint-values). The first that leaves nothing of those before it is the one to change.
 */
export function disjointIssues(requirements: readonly Requirement[], path: FieldPath): Issue[] {
  const byKey = new Map<string, Requirement[]>();
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

const valuesText = ({ values }: Requirement): string => (values === undefined ? '' : ` [${values.join(' ')}]`);

/** Whether some value of the label, or its absence, satisfies all. */
function leaveSomething(requirements: readonly Requirement[]): boolean {
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

function boundsOf({ operator, values }: Requirement): { atLeast?: bigint; atMost?: bigint }[] {
  const bound = int64Of(values?.[0]);
  if (bound === undefined) return [];
  if (operator === 'Gt' || operator === 'Gte') return [{ atLeast: operator === 'Gt' ? bound + 1n : bound }];
  if (operator === 'Lt' || operator === 'Lte') return [{ atMost: operator === 'Lt' ? bound - 1n : bound }];
  return [];
}

function admits(requirement: Requirement, value: string): boolean {
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

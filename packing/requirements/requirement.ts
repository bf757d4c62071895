import type { NodeSelectorOperator } from '../../api/kubernetes.js';
import { int64Of, largestInt64 } from '../../core/int64.js';
import type { WrittenRequirement } from '../../api/karpenter/requirements.js';

/**
 * The allowed values of one label, in canonical form (requirements/form): a set of values or the complement of one,
 * within bounds. `absent` says whether a node without the label satisfies it. It is separate from the values so that
 * `Exists` and `NotIn` on one key both stay in force.
 */
export interface Requirement {
  readonly complement: boolean;
  /** Ascending, without duplicates: the allowed values, or the excluded ones of a complement. */
  readonly values: readonly string[];
  readonly gte?: bigint;
  readonly lte?: bigint;
  readonly absent: boolean;
  readonly minValues?: number;
}

/** A single value, the commonest requirement. */
export function single(value: string): Requirement {
  return { complement: false, values: [value], absent: false };
}

/** Nothing satisfies it, not even a missing label. */
const impossible: Requirement = { complement: false, values: [], absent: false };

/** Only a missing label satisfies it. */
export const doesNotExist: Requirement = { complement: false, values: [], absent: true };

/** A requirement from its written form. The caller rejects unknown operators. */
export function requirementOf(
  operator: NodeSelectorOperator,
  values: readonly string[] = [],
  minValues?: number,
): Requirement {
  const plain = basic(operator, values);
  return minValues === undefined ? plain : { ...plain, minValues };
}

function basic(operator: NodeSelectorOperator, values: readonly string[]): Requirement {
  switch (operator) {
    case 'In':
      return values.length === 1 ? single(values[0]!) : { complement: false, values: sorted(values), absent: false };
    case 'NotIn':
      return { complement: true, values: sorted(values), absent: true };
    case 'Exists':
      return { complement: true, values: [], absent: false };
    case 'DoesNotExist':
      return doesNotExist;
    case 'Gt':
      return bounded('gte', values[0], 1n);
    case 'Gte':
      return bounded('gte', values[0]);
    case 'Lt':
      return bounded('lte', values[0], -1n);
    case 'Lte':
      return bounded('lte', values[0]);
  }
}

function bounded(side: 'gte' | 'lte', value: string | undefined, step = 0n): Requirement {
  const number = int64Of(value);
  if (number === undefined || number + step > largestInt64) return impossible;
  return { complement: true, values: [], absent: false, [side]: number + step };
}

function sorted(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}

/** Whether a label with this value satisfies the requirement. */
export function accepts(requirement: Requirement, value: string): boolean {
  return requirement.values.includes(value) !== requirement.complement && withinBounds(requirement, value);
}

function withinBounds({ gte, lte }: Requirement, value: string): boolean {
  if (gte === undefined && lte === undefined) return true;
  const number = int64Of(value);
  if (number === undefined) return false;
  return (gte === undefined || number >= gte) && (lte === undefined || number <= lte);
}

/** Whether `value` satisfies the requirement; undefined means the label is missing. */
export function satisfiedBy(requirement: Requirement, value: string | undefined): boolean {
  return value === undefined ? requirement.absent : accepts(requirement, value);
}

/**
 * The smallest integer that satisfies the requirement and is not in `taken`. If there is none: a taken value that does,
 * or undefined if the label may be missing.
 */
export function freshValue(requirement: Requirement, taken: ReadonlySet<string>): string | undefined {
  const from = requirement.gte ?? 0n;
  const last = requirement.lte ?? from + BigInt(requirement.values.length + taken.size);
  for (let n = from; n <= last; n++) {
    const value = String(n);
    if (!taken.has(value) && accepts(requirement, value)) return value;
  }
  for (const value of [...taken].sort()) if (accepts(requirement, value)) return value;
  return requirement.absent ? undefined : String(from);
}

/** Whether nothing satisfies it, neither a value nor a missing label. */
export function isImpossible(requirement: Requirement): boolean {
  return !requirement.absent && isEmptyRequirement(requirement);
}

/** Whether no value satisfies it. */
export function isEmptyRequirement({ complement, values }: Requirement): boolean {
  return !complement && values.length === 0;
}

/** Whether it allows more than one value. */
export function isOpen({ complement, values }: Requirement): boolean {
  return complement || values.length > 1;
}

/** The requirement that holds if both do (requirements/intersection). */
export function intersect(a: Requirement, b: Requirement): Requirement {
  const absent = a.absent && b.absent;
  const minValues = larger<number>(a.minValues, b.minValues);
  const extra = minValues === undefined ? {} : { minValues };
  if (a.complement && b.complement) {
    const gte = larger<bigint>(a.gte, b.gte);
    const lte = smaller(a.lte, b.lte);
    const bounds = { ...(gte === undefined ? {} : { gte }), ...(lte === undefined ? {} : { lte }) };
    const excluded = { complement: true, values: sorted([...a.values, ...b.values]), absent, ...bounds };
    return exhausted(excluded) ? { complement: false, values: [], absent, ...extra } : { ...excluded, ...extra };
  }
  const concrete = a.complement ? b : a;
  const other = a.complement ? a : b;
  const values = concrete.values.filter((value) => accepts(other, value));
  return { complement: false, values, absent, ...extra };
}

/** Whether a bounded complement excludes every integer within its bounds; bounds that cross contain none. */
function exhausted({ gte, lte, values }: Requirement): boolean {
  if (gte === undefined || lte === undefined) return false;
  for (let n = gte; n <= lte; n++) if (!values.includes(String(n))) return false;
  return true;
}

function larger<T extends bigint | number>(a: T | undefined, b: T | undefined): T | undefined {
  return a === undefined ? b : b === undefined || a > b ? a : b;
}

function smaller(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined ? b : b === undefined || a < b ? a : b;
}

/** The operator of its written form; bounds without excluded values count as `Exists`. */
export function operatorOf(requirement: Requirement): 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' {
  if (requirement.complement) return requirement.values.length > 0 ? 'NotIn' : 'Exists';
  return requirement.values.length > 0 ? 'In' : 'DoesNotExist';
}

/**
 * The written form: one entry, two for two bounds, and one more if the label must exist in addition to excluded values.
 */
export function write(key: string, requirement: Requirement): WrittenRequirement[] {
  const entries: WrittenRequirement[] = [];
  const { gte, lte, values, complement } = requirement;
  if (!complement || values.length > 0) {
    const operator = operatorOf(requirement);
    entries.push(operator === 'DoesNotExist' ? { key, operator } : { key, operator, values: [...values] });
  }
  if (gte !== undefined) entries.push({ key, operator: 'Gte', values: [String(gte)] });
  if (lte !== undefined) entries.push({ key, operator: 'Lte', values: [String(lte)] });
  const bounds = gte !== undefined || lte !== undefined;
  if (complement && !bounds && !requirement.absent) entries.push({ key, operator: 'Exists' });
  const { minValues } = requirement;
  return minValues === undefined ? entries : entries.map((entry, i) => (i === 0 ? { ...entry, minValues } : entry));
}

/** Quotes the empty string, which is a valid value, to make it visible. */
const textOf = (value: string): string => (value === '' ? '""' : value);

/** A readable text, equal for equal requirements: `In [a b]`, `NotIn [a]`, `>= 3`. */
export function describeRequirement(requirement: Requirement): string {
  const { gte, lte, values, complement, absent } = requirement;
  const parts: string[] = [];
  if (!complement || values.length > 0) {
    const operator = operatorOf(requirement);
    parts.push(
      operator === 'DoesNotExist' ? (absent ? operator : 'nothing') : `${operator} [${values.map(textOf).join(' ')}]`,
    );
  }
  if (gte !== undefined) parts.push(`>= ${gte}`);
  if (lte !== undefined) parts.push(`<= ${lte}`);
  if (complement && gte === undefined && lte === undefined && (!absent || values.length === 0)) {
    parts.push(absent ? 'any' : 'Exists');
  }
  return parts.join(' and ');
}

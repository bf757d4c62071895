import { parseQuantity } from '../../core/quantities.js';
import { describeDocument, isRecord } from './read-documents.js';
import { lookUp } from '../../core/own.js';
import { probableKey } from '../../packing/requirements/typo.js';

/** A field that violates a rule; the loader adds file and object. */
export class FieldError extends Error {
  override readonly name = 'FieldError';
  constructor(
    readonly field: string,
    readonly expected: string,
    readonly found: unknown,
  ) {
    super(`${field}: expected ${expected}, found ${describeDocument(found)}`);
  }
}

interface Check {
  (value: unknown, field: string): void;
  /** For an object: the checks of its fields. */
  readonly fields?: Readonly<Record<string, Check>>;
  /** For a list: the check of its entries. */
  readonly entries?: Check;
}

export const textCheck: Check = (value, field) => {
  if (typeof value !== 'string') throw new FieldError(field, 'a string', value);
};

export const nonEmptyText: Check = (value, field) => {
  if (typeof value !== 'string' || value === '') throw new FieldError(field, 'a non-empty string', value);
};

export const integerCheck: Check = (value, field) => {
  if (!Number.isInteger(value)) throw new FieldError(field, 'a whole number', value);
};

export const flagCheck: Check = (value, field) => {
  if (typeof value !== 'boolean') throw new FieldError(field, 'true or false', value);
};

export const time: Check = (value, field) => {
  if (typeof value !== 'string' || Number.isNaN(Date.parse(value)))
    throw new FieldError(field, 'a time such as 2026-01-31T12:00:00Z', value);
};

export const oneOfCheck =
  (...allowed: readonly string[]): Check =>
  (value, field) => {
    if (typeof value !== 'string' || !allowed.includes(value))
      throw new FieldError(field, `one of ${allowed.join(', ')}`, value);
  };

export const anything: Check = () => undefined;

// Clusters contain few distinct quantities, so each string is parsed once.
const goodQuantities = new Set<string>();

export const quantityCheck: Check = (value, field) => {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return;
  if (typeof value !== 'string') throw new FieldError(field, 'a quantity such as 500m or 2Gi', value);
  if (goodQuantities.has(value)) return;
  let amount: number;
  try {
    amount = parseQuantity(value, field);
  } catch {
    throw new FieldError(field, 'a quantity such as 500m or 2Gi', value);
  }
  if (amount < 0) throw new FieldError(field, 'a quantity that is not negative', value);
  goodQuantities.add(value);
};

export const listCheck = (check: Check): Check => {
  const each: Check = (value, field) => {
    if (!Array.isArray(value)) throw new FieldError(field, 'a list', value);
    for (let i = 0; i < value.length; i++) check(value[i], `${field}[${i}]`);
  };
  return Object.assign(each, { entries: check });
};

/** A list with at least one entry. */
export const someCheck = (check: Check): Check =>
  both(listCheck(check), (value, field) => {
    if ((value as unknown[]).length === 0) throw new FieldError(field, 'at least one entry', value);
  });

export const mapCheck =
  (check: Check): Check =>
  (value, field) => {
    if (!isRecord(value)) throw new FieldError(field, 'a map', value);
    for (const key of Object.keys(value)) check(lookUp(value, key), `${field}.${key}`);
  };

/** An object whose listed fields are checked if present (always if in `required`); others are ignored. */
export const shape = (fields: Readonly<Record<string, Check>>, required: readonly string[] = []): Check => {
  const each: Check = (value, field) => {
    if (!isRecord(value)) throw new FieldError(field, 'an object', value);
    const prefix = field === '' ? '' : `${field}.`;
    for (const name of required)
      if (lookUp(value, name) === undefined || lookUp(value, name) === null)
        throw new FieldError(`${prefix}${name}`, 'a value', undefined);
    for (const name of Object.keys(value)) {
      const check = lookUp(fields, name);
      const inner = lookUp(value, name);
      if (check !== undefined && inner !== undefined && inner !== null) check(inner, `${prefix}${name}`);
    }
  };
  return Object.assign(each, { fields });
};

/** Runs `check`, then `rule`, which throws `FieldError` itself. */
export const both = (check: Check, rule: Check): Check => {
  const each: Check = (value, field) => {
    check(value, field);
    rule(value, field);
  };
  return Object.assign(each, { ...check });
};

/** Cached, since all pods of a cluster have the same fields. */
const probable = new WeakMap<object, Map<string, string | undefined>>();

function probableField(name: string, fields: Readonly<Record<string, Check>>): string | undefined {
  let known = probable.get(fields);
  if (known === undefined) probable.set(fields, (known = new Map<string, string | undefined>()));
  if (!known.has(name)) known.set(name, probableKey(name, Object.keys(fields)));
  return known.get(name);
}

/** Unknown fields that resemble a known one, each with the probable name. */
export function misspeltFields(
  value: unknown,
  { fields, entries }: Check,
  path = '',
): [field: string, meant: string][] {
  if (entries !== undefined && Array.isArray(value))
    return value.flatMap((each, i) => misspeltFields(each, entries, `${path}[${i}]`));
  if (fields === undefined || !isRecord(value)) return [];
  return Object.keys(value).flatMap((name) => {
    const at = path === '' ? name : `${path}.${name}`;
    const known = lookUp(fields, name);
    if (known !== undefined) return misspeltFields(lookUp(value, name), known, at);
    const meant = probableField(name, fields);
    return meant === undefined ? [] : [[at, meant]];
  });
}

export type { Check };

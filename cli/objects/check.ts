import { parseQuantity } from '../../core/quantities.js';
import { describeDocument, isRecord } from './read-documents.js';
import { lookUp } from '../../core/own.js';

/** A field that breaks a rule; the loader adds file and object. */
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

type Check = (value: unknown, field: string) => void;

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

// Clusters repeat few distinct quantities, so each text is parsed once.
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

export const listCheck =
  (check: Check): Check =>
  (value, field) => {
    if (!Array.isArray(value)) throw new FieldError(field, 'a list', value);
    for (let i = 0; i < value.length; i++) check(value[i], `${field}[${i}]`);
  };

/** A list with at least one entry. */
export const someCheck =
  (check: Check): Check =>
  (value, field) => {
    listCheck(check)(value, field);
    if ((value as unknown[]).length === 0) throw new FieldError(field, 'at least one entry', value);
  };

export const mapCheck =
  (check: Check): Check =>
  (value, field) => {
    if (!isRecord(value)) throw new FieldError(field, 'a map', value);
    for (const key of Object.keys(value)) check(lookUp(value, key), `${field}.${key}`);
  };

/** An object whose listed fields are checked when present (or always, when named in `required`); others are left alone. */
export const shape =
  (fields: Readonly<Record<string, Check>>, required: readonly string[] = []): Check =>
  (value, field) => {
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

/** Runs `check`, then `rule`, which throws `FieldError` itself. */
export const both =
  (check: Check, rule: Check): Check =>
  (value, field) => {
    check(value, field);
    rule(value, field);
  };

export type { Check };

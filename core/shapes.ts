/** Validation of payloads, written by hand: pure, small and deterministic, so that workflow code may use it. */

/** Returns what is wrong with the value at `path`; undefined if it is valid. */
export type Shape = (value: unknown, path: string) => string | undefined;

const isWrong = (path: string, value: unknown, allowed: string): string =>
  `${path === '' ? 'the payload' : path} is ${found(value)}: ${allowed}`;

function found(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 60);
}

export const text: Shape = (value, path) =>
  typeof value === 'string' ? undefined : isWrong(path, value, 'give a string');

export const number: Shape = (value, path) =>
  typeof value === 'number' && !Number.isNaN(value) ? undefined : isWrong(path, value, 'give a number');

/**
 * Go's longest duration, 292 years, in milliseconds. Valid times are at most as far ahead as the longest `expireAfter`
 * allows.
 */
const longestMs = 9_223_372_036_854;

const within =
  (least: number, most: number, allowed: string): Shape =>
  (value, path) =>
    typeof value === 'number' && value >= least && value <= most ? undefined : isWrong(path, value, allowed);

/**
 * Milliseconds since the epoch in the range of dates. Other values throw where the time is formatted or a timer is
 * started.
 */
export const epochMs: Shape = within(-longestMs, 2 * longestMs, 'give a number, milliseconds since the epoch');

/** A duration in milliseconds within the range of timers. */
export const span: Shape = within(0, longestMs, 'give a number, a duration in milliseconds');

/** A valid workflow id. For an invalid one a Temporal server fails the whole workflow task that signals it. */
export const workflowId: Shape = (value, path) => {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value).length : 0;
  return bytes >= 1 && bytes <= 1000
    ? undefined
    : isWrong(path, value, 'give the id of a workflow, of 1 to 1000 bytes');
};

export const flag: Shape = (value, path) =>
  typeof value === 'boolean' ? undefined : isWrong(path, value, 'give true or false');

/** Accepts any value. */
export const nothing: Shape = () => undefined;

export const oneOf =
  (...allowed: readonly string[]): Shape =>
  (value, path) =>
    allowed.includes(value as string) ? undefined : isWrong(path, value, `allowed are ${allowed.join(', ')}`);

/** Absent, or null: JSON has null for numbers that it cannot represent. */
export const optional =
  (shape: Shape): Shape =>
  (value, path) =>
    value === undefined || value === null ? undefined : shape(value, path);

export const absentOr =
  (shape: Shape): Shape =>
  (value, path) =>
    value === undefined ? undefined : shape(value, path);

export const listOf =
  (shape: Shape): Shape =>
  (value, path) => {
    if (!Array.isArray(value)) return isWrong(path, value, 'give a list');
    for (const [at, each] of value.entries()) {
      const wrong = shape(each, `${path}[${at}]`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

export const nonEmptyListOf =
  (shape: Shape): Shape =>
  (value, path) =>
    Array.isArray(value) && value.length === 0 ? isWrong(path, value, 'give at least one') : listOf(shape)(value, path);

/** Additional fields are allowed: newer versions send more. */
export const object =
  (fields: Readonly<Record<string, Shape>>): Shape =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return isWrong(path, value, `give an object with ${Object.keys(fields).join(', ')}`);
    for (const [name, shape] of Object.entries(fields)) {
      const wrong = shape(Object.getOwnPropertyDescriptor(value, name)?.value, path === '' ? name : `${path}.${name}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

import { hasOwn, lookUp } from './own.js';

/**
 * Whether two values are the same through and through: of plain objects, arrays, maps and sets. Parts that are the same object make it short;
 * members of sets and keys of maps are compared as they are.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  const areAlike = isObject(a) && isObject(b) && Object.getPrototypeOf(a) === Object.getPrototypeOf(b);
  return areAlike && arePartsSame(a, b);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Of two of one kind. */
function arePartsSame(a: object, b: object): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, at) => isSame(each, b[at]));
  }
  if (a instanceof Map && b instanceof Map) return areMapsSame(a, b);
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((each) => b.has(each));
  return areObjectsSame(a, b);
}

function areMapsSame(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isSame(value, b.get(key)));
}

function areObjectsSame(a: object, b: object): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  const valueOf = (of: object, key: string): unknown => lookUp(of as Record<string, unknown>, key);
  return keys.every((key) => hasOwn(b, key) && isSame(valueOf(a, key), valueOf(b, key)));
}

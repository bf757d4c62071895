/**
 * Look-ups by keys that come from outside: labels, resource names, annotations, flags. A plain object inherits `constructor`,
 * `toString` and their like, which are legal label keys: only an object's own keys count. The lint rule `own-lookups` keeps
 * other look-ups by texts out of the product.
 */
export function lookUp<T>(record: Readonly<Record<string, T>> | null | undefined, key: string): T | undefined {
  return hasOwn(record, key) ? record?.[key] : undefined;
}

export function hasOwn(record: object | null | undefined, key: string): boolean {
  return record !== undefined && record !== null && Object.hasOwn(record, key);
}

/**
 * Look-ups by external keys: labels, resource names, annotations, flags. A plain object inherits `constructor`,
 * `toString` and others, which are legal label keys: only own keys count. The lint rule `own-lookups` forbids other
 * look-ups by strings in the product.
 */
export function lookUp<T>(record: Readonly<Record<string, T>> | null | undefined, key: string): T | undefined {
  return hasOwn(record, key) ? record?.[key] : undefined;
}

export function hasOwn(record: object | null | undefined, key: string): boolean {
  return record !== undefined && record !== null && Object.hasOwn(record, key);
}

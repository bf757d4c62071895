/**
 * Hash-consing: equal values share one object. Unused objects are released, so the table does not grow without bound in
 * a changing cluster.
 */
export interface Interner {
  /**
   * Returns the shared object equal to `value` (same keys in the same order). Never modify it. If users keep only a
   * part of it, `anchor` names that part: the value stays shared as long as the part is referenced.
   */
  share<T extends object>(value: T, anchor?: (value: T) => object): T;
  /** The same string object for equal strings; parsed JSON has a copy of each. */
  text(value: string): string;
  /** Number of distinct live objects, as far as the garbage collector has reported. */
  readonly size: number;
}

export function createInterner(): Interner {
  const table = new Map<string, WeakRef<object>>();
  const texts = new Map<string, string>();
  const registry = new FinalizationRegistry<string>((key) => {
    // Another object may have taken the key.
    if (table.get(key)?.deref() === undefined) table.delete(key);
  });
  const values = new WeakMap<object, object>();
  const share = <T extends object>(value: T, anchor: (value: T) => object = itself): T => {
    const key = JSON.stringify(value);
    const held = table.get(key)?.deref();
    const known = held === undefined ? undefined : values.get(held);
    if (known !== undefined) return known as T;
    const part = anchor(value);
    values.set(part, value);
    table.set(key, new WeakRef(part));
    registry.register(part, key);
    return value;
  };
  const text = (value: string): string => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    // Node names come and go: the table is cleared instead of growing without bound.
    if (texts.size >= 65_536) texts.clear();
    texts.set(value, value);
    return value;
  };
  return {
    share,
    text,
    get size() {
      return table.size;
    },
  };
}

function itself<T>(value: T): T {
  return value;
}

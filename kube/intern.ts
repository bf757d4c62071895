/**
 * Hash-consing: equal values share one object. What nobody uses any more is given up, so a cluster that changes for
 * months does not fill the table.
 */
export interface Interner {
  /**
   * An object equal to `value` (same keys in the same order), the same one for every equal value. Never change it.
   * Where users keep only a part of it, `anchor` names that part: the value stays shared while anyone has the part.
   */
  share<T extends object>(value: T, anchor?: (value: T) => object): T;
  /** The same string object for equal strings: each decoded JSON text has its own copy. */
  text(value: string): string;
  /** How many distinct objects are alive, as far as the garbage collector has told. */
  readonly size: number;
}

export function createInterner(): Interner {
  const table = new Map<string, WeakRef<object>>();
  const texts = new Map<string, string>();
  const registry = new FinalizationRegistry<string>((key) => {
    // The key may have been taken by a younger object.
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
    // Node names come and go: start over rather than grow for ever.
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

/** Whether the bit set `bits` (32 bits a word) contains `index`. */
export function hasBit(bits: Uint32Array, index: number): boolean {
  return ((bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
}

/** The indices below `count` in the bit set, ascending. */
export function members(bits: Uint32Array, count: number): Int32Array {
  const list = new Int32Array(count);
  const words = Math.min(bits.length, (count + 31) >>> 5);
  let found = 0;
  for (let w = 0; w < words; w++) {
    let word = bits[w]!;
    while (word !== 0) {
      const index = (w << 5) + (31 - Math.clz32(word & -word));
      word &= word - 1;
      if (index < count) list[found++] = index;
    }
  }
  return list.slice(0, found);
}

/** Numbers the bit sets so that equal sets have equal numbers, in order of first occurrence. */
export function numberSets(sets: readonly Uint32Array[]): {
  readonly of: Int32Array;
  readonly distinct: Uint32Array[];
} {
  const of = new Int32Array(sets.length);
  const distinct: Uint32Array[] = [];
  const byObject = new Map<Uint32Array, number>();
  const byContent = new Map<string, number>();
  sets.forEach((set, i) => {
    let id = byObject.get(set);
    if (id === undefined) {
      const text = set.join();
      id = byContent.get(text);
      if (id === undefined) {
        id = distinct.length;
        byContent.set(text, id);
        distinct.push(set);
      }
      byObject.set(set, id);
    }
    of[i] = id;
  });
  return { of, distinct };
}

/** One step of a 32-bit hash that spreads every bit of `value`. */
export function mix(hash: number, value: number): number {
  let h = Math.imul(hash ^ value, 0x9e3779b1);
  h ^= h >>> 15;
  h = Math.imul(h, 0x85ebca6b);
  return (h ^ (h >>> 13)) | 0;
}

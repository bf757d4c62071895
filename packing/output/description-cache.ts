import { mix } from '../bins/bits.js';
import { isSameList } from '../lists.js';

/** What determines the description of a claim, other than its pods. */
export interface DescriptionKey {
  readonly row: number;
  /** Empty unless a spot ratio determines it. */
  readonly capacityType: string;
  /** Topology keys that must be fixed to one value, in order. */
  readonly keys: readonly string[];
  /** Total requests of its pods, by dimension. */
  readonly usage: Float64Array;
  /** Indices of the constraints of its pods, ascending. */
  readonly constraints: readonly number[];
  /** Host ports of its pods that DaemonSets may use too, as text. */
  readonly ports: string;
}

/** Caches the descriptions of equal claims. Compares amounts as numbers, which is faster than formatting them. */
export class DescriptionCache<T> {
  private readonly known = new Map<number, { readonly likeness: DescriptionKey; readonly made: T }[]>();

  of(likeness: DescriptionKey, make: () => T): T {
    const hash = hashOf(likeness);
    const there = this.known.get(hash);
    if (there !== undefined) for (const each of there) if (isSameKey(each.likeness, likeness)) return each.made;
    const made = make();
    if (there === undefined) this.known.set(hash, [{ likeness, made }]);
    else there.push({ likeness, made });
    return made;
  }
}

function hashOf({ row, usage }: DescriptionKey): number {
  let hash = row;
  // Amounts of memory exceed 32 bits.
  for (let d = 0; d < usage.length; d++) hash = mix(mix(hash, usage[d]! | 0), (usage[d]! / 0x1_0000_0000) | 0);
  return hash;
}

function isSameKey(a: DescriptionKey, b: DescriptionKey): boolean {
  return (
    a.row === b.row &&
    a.capacityType === b.capacityType &&
    a.ports === b.ports &&
    isSameList(a.usage, b.usage) &&
    isSameList(a.constraints, b.constraints) &&
    isSameList(a.keys, b.keys)
  );
}

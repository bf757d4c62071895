import { mix } from '../bins/bits.js';
import { isSameList } from '../lists.js';

/** What decides how a claim is described: everything but which pods it is for. */
export interface DescriptionKey {
  readonly row: number;
  /** Empty where no spot ratio decided it. */
  readonly capacityType: string;
  /** Topology keys that must not stay open, in order. */
  readonly keys: readonly string[];
  /** What its pods ask for together, by dimension. */
  readonly usage: Float64Array;
  /** Indexes of the constraints that its pods have, ascending. */
  readonly constraints: readonly number[];
  /** Host ports of its pods that DaemonSets may want too, as text. */
  readonly ports: string;
}

/** What is worked out once for claims that are alike. Told by amounts as they are: writing these out as text takes longer. */
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
  // Amounts of memory are larger than 32 bits hold.
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

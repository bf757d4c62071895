/** What may be in a bin: amounts that add up, and pairs that exclude each other. */
export interface Contents {
  /** How many amounts each item has: its resources, then one for each cap. */
  readonly width: number;
  /** `weight[item * width + d]`. */
  readonly weight: Float64Array;
  /** By item: the pods that there are. */
  readonly pods: Int32Array;
  /** By item: others that may not be in the same bin. */
  readonly conflicts: readonly (readonly number[])[];
}

/** How many of what is at `from` in `weight` the room holds, `most` at most. Amounts are whole numbers. */
export function mostOf(weight: Float64Array, from: number, room: Float64Array, most: number): number {
  let fits = most;
  for (let d = 0; d < room.length; d++) {
    const own = weight[from + d]!;
    if (own * fits > room[d]!) fits = Math.floor(room[d]! / own);
  }
  return Math.max(0, fits);
}

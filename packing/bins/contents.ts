/** Constraints on the content of a bin: amounts that add up, and items that exclude each other. */
export interface Contents {
  /** How many amounts each item has: its resources, then one for each cap. */
  readonly width: number;
  /** `weight[item * width + d]`. */
  readonly weight: Float64Array;
  /** By item: the number of pods. */
  readonly pods: Int32Array;
  /** By item: the items that may not share its bin. */
  readonly conflicts: readonly (readonly number[])[];
}

/** How many units with the weights at `from` the room holds, at most `most`. Amounts are whole numbers. */
export function mostOf(weight: Float64Array, from: number, room: Float64Array, most: number): number {
  let fits = most;
  for (let d = 0; d < room.length; d++) {
    const own = weight[from + d]!;
    if (own * fits > room[d]!) fits = Math.floor(room[d]! / own);
  }
  return Math.max(0, fits);
}

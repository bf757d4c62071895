/** Milliseconds. */
interface BackOff {
  /** After the first failure. */
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Delay before the next attempt after `failures` (at least 1) in a row; doubles each time. Milliseconds. */
export function backOffMs(failures: number, { firstMs, longestMs }: BackOff): number {
  // Avoids overflow; no limit is longer than that.
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
}

/** Milliseconds. */
export interface BackOff {
  /** After the first failure. */
  readonly firstMs: number;
  readonly longestMs: number;
}

/** How long to wait for the next attempt after `failures` in a row, from 1 on: twice as long after each further one. Milliseconds. */
export function backOffMs(failures: number, { firstMs, longestMs }: BackOff): number {
  // No bound is longer than that, and no number overflows.
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
}

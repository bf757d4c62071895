/** A seed as the eight bytes, lowest first, that a run's randomness begins with. */
export function bytesOf(seed: number): number[] {
  return Array.from({ length: 8 }, (_, index) =>
    index < 4 ? (seed >>> (8 * index)) & 0xff : (seed * 31 + index) & 0xff,
  );
}

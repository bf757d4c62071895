/** Deterministic pseudo-random numbers. */
export class Xorshift {
  /** @param state any integer except 0 */
  constructor(private state: number) {}

  /** From 0 to 2^31 - 1. */
  next(): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x | 0;
    return x & 0x7fffffff;
  }
}

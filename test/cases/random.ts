/** A source of numbers that gives the same sequence for the same seed on any machine. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
    // Neighbouring seeds start alike otherwise.
    for (let i = 0; i < 4; i++) this.next();
  }

  /** At least 0, below 1. */
  next(): number {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('nothing to pick from');
    return from[Math.floor(this.next() * from.length)] as T;
  }

  /** Some of the items, in their order; at least `least`. */
  some<T>(from: readonly T[], least: number): T[] {
    const keys = from.map(() => this.next());
    const take = new Set(
      keys
        .map((key, i) => ({ key, i }))
        .sort((a, b) => a.key - b.key)
        .slice(0, this.int(least, from.length))
        .map(({ i }) => i),
    );
    return from.filter((_, i) => take.has(i));
  }
}

import { mostOf, type Contents } from './contents.js';

/** Items that may be added to a bin, in the order of trial. */
interface BinItems {
  readonly items: Int32Array;
  /** How many pods of each fit alone. */
  readonly fits: Int32Array;
  readonly size: number;
  /** By item: worth of a pod. */
  readonly value: Float64Array;
}

/** The candidates by worth per use of one amount, or of all amounts at the multipliers (`amount` is then the width). */
interface Ranking {
  readonly amount: number;
  /** By candidate. */
  readonly uses: Float64Array;
  readonly order: Int32Array;
}

/**
 * Upper bounds of what can still be added to a bin after some candidates are decided: the minimum over single amounts
 * and over all amounts at the multipliers. The quick bound takes the best rate of the later candidates; the thorough
 * bound counts how many of each still fit.
 */
export class RestBounds {
  work = 0;
  private candidates: BinItems;
  private multipliers: Float64Array;
  /** `rates[k * (width + 1) + amount]`: the best rate of the candidates from `k` on. */
  private readonly rates: Float64Array;
  private readonly room: Int32Array;
  private rankings: readonly Ranking[] | undefined;

  constructor(private readonly contents: Contents) {
    const items = contents.pods.length;
    this.rates = new Float64Array((items + 1) * (contents.width + 1));
    this.room = new Int32Array(items);
    this.multipliers = new Float64Array(contents.width);
    this.candidates = { items: this.room, fits: this.room, size: 0, value: this.rates };
  }

  /** Sets the candidates and multipliers of the following bounds. */
  aim(candidates: BinItems, multipliers: Float64Array): void {
    this.candidates = candidates;
    this.multipliers = multipliers;
    this.rankings = undefined;
    const { width, weight } = this.contents;
    const { rates } = this;
    const { items, size, value } = candidates;
    const wide = width + 1;
    rates.fill(0, size * wide, (size + 1) * wide);
    for (let k = size - 1; k >= 0; k--) {
      const item = items[k]!;
      const own = value[item]!;
      let use = 0;
      for (let d = 0; d < width; d++) {
        const amount = weight[item * width + d]!;
        use += multipliers[d]! * amount;
        rates[k * wide + d] = Math.max(rates[(k + 1) * wide + d]!, own / amount);
      }
      rates[k * wide + width] = Math.max(rates[(k + 1) * wide + width]!, own / use);
    }
    this.work += size;
  }

  /** Upper bound of what the candidates from `at` on add in the room left. */
  quick(at: number, left: Float64Array): number {
    const { width } = this.contents;
    const { rates, multipliers } = this;
    const from = at * (width + 1);
    let most = Infinity;
    let joint = 0;
    for (let d = 0; d < width; d++) {
      const room = left[d]!;
      joint += multipliers[d]! * room;
      const rate = rates[from + d]!;
      if (rate < Infinity) most = Math.min(most, room * rate);
    }
    const rate = rates[from + width]!;
    return rate < Infinity ? Math.min(most, joint * rate) : most;
  }

  /** A tighter upper bound, from how many pods of each candidate fit; `blocked` candidates count nothing. */
  thorough(at: number, left: Float64Array, blocked: Int32Array): number {
    const { width, weight } = this.contents;
    const { room } = this;
    const { items, fits, size } = this.candidates;
    for (let k = at; k < size; k++) {
      const item = items[k]!;
      room[k] = blocked[item]! > 0 ? 0 : mostOf(weight, item * width, left, fits[k]!);
    }
    this.rankings ??= this.rank();
    this.work += size >> 1;
    return this.rankings.reduce((most, ranking) => Math.min(most, this.filled(ranking, at, left)), Infinity);
  }

  /** Worth of filling the rest of the ranking's amount, with the last pod split. */
  private filled({ amount, uses, order }: Ranking, at: number, left: Float64Array): number {
    const { items, size, value } = this.candidates;
    let rest = this.ofAmount(amount, left, 0);
    let worth = 0;
    for (let n = 0; n < size; n++) {
      const k = order[n]!;
      if (k < at || this.room[k] === 0) continue;
      const own = value[items[k]!]!;
      const use = uses[k]! * this.room[k]!;
      if (use >= rest) return worth + (rest / uses[k]!) * own;
      rest -= use;
      worth += this.room[k]! * own;
    }
    return worth;
  }

  /** Rankings for the amounts that all candidates use. */
  private rank(): Ranking[] {
    const { width, weight } = this.contents;
    const { items, size, value } = this.candidates;
    const rankings: Ranking[] = [];
    for (let amount = 0; amount <= width; amount++) {
      const uses = Float64Array.from({ length: size }, (_, k) => this.ofAmount(amount, weight, items[k]! * width));
      if (uses.some((use) => use <= 0)) continue;
      const rate = (k: number): number => value[items[k]!]! / uses[k]!;
      const order = Int32Array.from({ length: size }, (_, k) => k).sort((a, b) => rate(b) - rate(a) || a - b);
      rankings.push({ amount, uses, order });
    }
    this.work += size * rankings.length;
    return rankings;
  }

  /** Value of one amount at position `from`, or of all amounts at the multipliers. */
  private ofAmount(amount: number, amounts: Float64Array, from: number): number {
    const { width } = this.contents;
    if (amount < width) return amounts[from + amount]!;
    let sum = 0;
    for (let d = 0; d < width; d++) sum += this.multipliers[d]! * amounts[from + d]!;
    return sum;
  }
}

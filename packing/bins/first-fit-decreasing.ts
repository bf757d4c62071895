import type { BinProblem, BinSolution } from './problem.js';

/** Bounds the checks of an offer against a bin, before the attempt is given up. */
const mostChecks = 4_000_000;

interface FirstFitBin {
  readonly used: Float64Array;
  /** Offers with room for its contents so far, ascending by price. */
  offers: number[];
  readonly items: Map<number, number>;
  readonly capUse: Int32Array;
}

/**
 * First fit decreasing: opens a bin only for an item that fits no open one, and buys each bin as the cheapest offer with room for
 * its contents. This finds at once the solutions with few large bins, to which the search comes last. Undefined if the problem has
 * limits or open bins, if an item fits no bin, or after too many checks.
 */
export function firstFitDecreasing(problem: BinProblem): BinSolution | undefined {
  if (problem.limits.length > 0 || problem.openBins.length > 0) return undefined;
  const firstFit = new FirstFit(problem);
  return firstFit.run() ? firstFit.solution() : undefined;
}

class FirstFit {
  private readonly bins: FirstFitBin[] = [];
  private readonly byPrice: readonly number[];
  private readonly capsOf: number[][];
  private readonly conflictsOf: Set<number>[];
  private checks = 0;

  constructor(private readonly problem: BinProblem) {
    const { offers, items, caps, conflicts } = problem;
    this.byPrice = Array.from({ length: offers.count }, (_, o) => o).sort(
      (a, b) => offers.price[a]! - offers.price[b]! || a - b,
    );
    this.capsOf = Array.from({ length: items.count }, () => []);
    caps.forEach((cap, c) => cap.items.forEach((item) => this.capsOf[item]!.push(c)));
    this.conflictsOf = Array.from({ length: items.count }, () => new Set());
    for (const [a, b] of conflicts) {
      this.conflictsOf[a]!.add(b);
      this.conflictsOf[b]!.add(a);
    }
  }

  run(): boolean {
    const { items, dimensions } = this.problem;
    const order = Array.from({ length: items.count }, (_, i) => i).sort((a, b) => {
      for (let d = 0; d < dimensions; d++) {
        const difference = items.demand[b * dimensions + d]! - items.demand[a * dimensions + d]!;
        if (difference !== 0) return difference;
      }
      return a - b;
    });
    for (const item of order) {
      for (let pod = 0; pod < items.pods[item]!; pod++) {
        if (!this.place(item) || this.checks > mostChecks) return false;
      }
    }
    return true;
  }

  private place(item: number): boolean {
    for (const bin of this.bins) if (this.add(bin, item)) return true;
    const { dimensions, caps } = this.problem;
    const bin: FirstFitBin = {
      used: new Float64Array(dimensions),
      offers: [...this.byPrice],
      items: new Map(),
      capUse: new Int32Array(caps.length),
    };
    if (!this.add(bin, item)) return false;
    this.bins.push(bin);
    return true;
  }

  private add(bin: FirstFitBin, item: number): boolean {
    const { caps, items, dimensions } = this.problem;
    for (const cap of this.capsOf[item]!) if (bin.capUse[cap]! >= caps[cap]!.max) return false;
    for (const other of bin.items.keys()) if (this.conflictsOf[item]!.has(other)) return false;
    const used = bin.used.map((amount, d) => amount + items.demand[item * dimensions + d]!);
    const allowed = items.allowed[item]!;
    this.checks += bin.offers.length;
    const left = bin.offers.filter((o) => ((allowed[o >>> 5]! >>> (o & 31)) & 1) === 1 && this.holds(o, used));
    if (left.length === 0) return false;
    bin.offers = left;
    bin.used.set(used);
    bin.items.set(item, (bin.items.get(item) ?? 0) + 1);
    for (const cap of this.capsOf[item]!) bin.capUse[cap] = bin.capUse[cap]! + 1;
    return true;
  }

  private holds(offer: number, used: Float64Array): boolean {
    const { offers, dimensions } = this.problem;
    for (let d = 0; d < dimensions; d++) if (used[d]! > offers.capacity[offer * dimensions + d]!) return false;
    return true;
  }

  solution(): BinSolution {
    const { offers, items } = this.problem;
    let price = 0;
    const bins = this.bins.map((bin) => {
      const offer = bin.offers[0]!;
      price += offers.price[offer]!;
      return { offer, items: Int32Array.from(bin.items.keys()), pods: Int32Array.from(bin.items.values()) };
    });
    return { bins, filled: [], unplaced: new Int32Array(items.count), price };
  }
}

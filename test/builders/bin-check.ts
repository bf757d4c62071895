import type { BinProblem, BinSolution } from '../../packing/bins/problem.js';

const has = (bits: Uint32Array, index: number): boolean => (((bits[index >> 5] ?? 0) >>> (index & 31)) & 1) === 1;

/** Every rule that `solution` breaks, as sentences; empty where it is valid. Shares no code with the solver. */
export function check(problem: BinProblem, solution: BinSolution): string[] {
  const { items, offers, dimensions } = problem;
  const errors: string[] = [];
  const seen = Array.from(solution.unplaced);
  const bins = new BinCheck(problem, errors, seen);
  let price = 0;
  solution.bins.forEach((bin, n) => {
    price += offers.price[bin.offer]!;
    if (bin.items.length === 0) errors.push(`bin ${n} is empty`);
    for (const item of bin.items) {
      if (!has(items.allowed[item]!, bin.offer)) errors.push(`bin ${n} may not hold item ${item}`);
    }
    bins.check(`bin ${n}`, bin, (d) => offers.capacity[bin.offer * dimensions + d]!);
  });
  return [...errors, ...totalErrors(problem, solution, { seen, price })];
}

/** Limits that are exceeded, pods that are missing or too many, and a price that is wrong. */
function totalErrors(
  { items, limits }: BinProblem,
  solution: BinSolution,
  { seen, price }: { readonly seen: readonly number[]; readonly price: number },
): string[] {
  const errors: string[] = [];
  limits.forEach((limit, l) => {
    let sum = 0;
    for (const bin of solution.bins) sum += limit.use[bin.offer]!;
    if (sum > Math.max(0, limit.remaining)) errors.push(`limit ${l} is exceeded: ${sum} of ${limit.remaining}`);
  });
  for (let i = 0; i < items.count; i++) {
    if (seen[i] !== items.pods[i]) errors.push(`item ${i} has ${seen[i]} of ${items.pods[i]} pods`);
  }
  if (Math.abs(price - solution.price) > 1e-9 * (1 + price)) errors.push(`price ${solution.price} is not ${price}`);
  return errors;
}

/** What is wrong with the content of single bins; `seen` counts the pods of each item. */
class BinCheck {
  constructor(
    private readonly problem: BinProblem,
    private readonly errors: string[],
    private readonly seen: number[],
  ) {}

  check(where: string, content: { items: Int32Array; pods: Int32Array }, room: (d: number) => number): void {
    const { items, dimensions, caps } = this.problem;
    const pods = new Map<number, number>();
    content.items.forEach((item, k) => {
      const count = content.pods[k]!;
      if (count <= 0) this.errors.push(`${where} holds ${count} of item ${item}`);
      pods.set(item, (pods.get(item) ?? 0) + count);
      this.seen[item] = (this.seen[item] ?? 0) + count;
    });
    for (let d = 0; d < dimensions; d++) {
      let sum = 0;
      for (const [item, count] of pods) sum += count * items.demand[item * dimensions + d]!;
      if (sum > room(d)) this.errors.push(`${where} is over-full in dimension ${d}: ${sum} of ${room(d)}`);
    }
    caps.forEach((cap, c) => {
      let sum = 0;
      for (const item of new Set(cap.items)) sum += pods.get(item) ?? 0;
      if (sum > cap.max) this.errors.push(`${where} has ${sum} pods of cap ${c}`);
    });
    this.checkConflicts(where, pods);
  }

  private checkConflicts(where: string, pods: ReadonlyMap<number, number>): void {
    for (const [a, b] of this.problem.conflicts) {
      if (a === b) {
        if ((pods.get(a) ?? 0) > 1) this.errors.push(`${where} holds item ${a} twice`);
      } else if (pods.has(a) && pods.has(b)) this.errors.push(`${where} holds items ${a} and ${b}`);
    }
  }
}

/**
 * The price of a plain plan to compare with: pods by falling cpu then memory, each into the first bin that still has room in
 * some offer, then each bin on the cheapest offer that fits. Ignores limits and conflicts.
 */
export function ffd(problem: BinProblem): number {
  const { items, offers, dimensions } = problem;
  const capsOf = Array.from({ length: items.count }, (_, i) =>
    problem.caps.flatMap((cap, c) => (cap.items.includes(i) ? [c] : [])),
  );
  const order = byFallingDemand(problem);
  const bins: OpenBin[] = [];
  const isEmpty = (bin: OpenBin): boolean => bin.used.every((amount) => amount === 0);
  const put = (bin: OpenBin, item: number): boolean => {
    if (capsOf[item]!.some((c) => (bin.caps.get(c) ?? 0) >= problem.caps[c]!.max)) return false;
    const used = bin.used.map((amount, d) => amount + items.demand[item * dimensions + d]!);
    const fitting = bin.offers.filter(
      (o) => has(items.allowed[item]!, o) && used.every((amount, d) => amount <= offers.capacity[o * dimensions + d]!),
    );
    if (fitting.length === 0) return false;
    bin.used = used;
    bin.offers = fitting;
    for (const c of capsOf[item]!) bin.caps.set(c, (bin.caps.get(c) ?? 0) + 1);
    return true;
  };
  for (const item of order) {
    let from = 0;
    for (let n = 0; n < items.pods[item]!; n++) {
      for (; ; from++) {
        bins[from] ??= {
          used: new Array<number>(dimensions).fill(0),
          caps: new Map(),
          offers: Array.from({ length: offers.count }, (_, o) => o),
        };
        if (put(bins[from]!, item) || isEmpty(bins[from]!)) break;
      }
    }
  }
  return bins.reduce((sum, bin) => {
    if (isEmpty(bin)) return sum;
    return sum + Math.min(...bin.offers.map((o) => offers.price[o]!));
  }, 0);
}

function byFallingDemand({ items, dimensions }: BinProblem): number[] {
  return Array.from({ length: items.count }, (_, i) => i).sort((a, b) => {
    for (let d = 0; d < dimensions; d++) {
      const difference = items.demand[b * dimensions + d]! - items.demand[a * dimensions + d]!;
      if (difference !== 0) return difference;
    }
    return a - b;
  });
}

interface OpenBin {
  used: number[];
  caps: Map<number, number>;
  offers: number[];
}

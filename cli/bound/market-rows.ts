import type { Column } from '../../packing/bins/columns.js';
import type { Content, Market, MarketContent, MarketProblem } from './market.js';

/** The same problem with indistinguishable items merged, and the merged item of each. */
export function mergeMarketItems(problem: MarketProblem): { problem: MarketProblem; of: Int32Array } {
  const texts = signatures(problem);
  const of = new Int32Array(texts.length);
  const first: number[] = [];
  const known = new Map<string, number>();
  texts.forEach((text, item) => {
    let merged = known.get(text);
    if (merged === undefined) {
      merged = first.push(item) - 1;
      known.set(text, merged);
    }
    of[item] = merged;
  });
  const { width, weight, pods, conflicts, markets, requirements } = problem;
  const merged = {
    width,
    weight: Float64Array.from(
      { length: first.length * width },
      (_, k) => weight[first[Math.floor(k / width)]! * width + (k % width)]!,
    ),
    pods: new Int32Array(first.length),
    conflicts: first.map((item) => [...listOf(conflicts[item]!, of)]),
    markets: markets.map((market) => ({
      ...market,
      items: listOf(market.items, of),
      ...(market.openers !== undefined && { openers: listOf(market.openers, of) }),
    })),
    requirements: requirements.map(({ items, least }) => ({ items: listOf(items, of), least })),
    limits: problem.limits,
  };
  pods.forEach((count, item) => (merged.pods[of[item]!] = merged.pods[of[item]!]! + count));
  return { problem: merged, of };
}

const listOf = (items: Iterable<number>, of: Int32Array): Int32Array =>
  Int32Array.from(new Set(Array.from(items, (item) => of[item]!))).sort();

/** Keys that are equal for equal items. Items with conflicts have unique keys. */
function signatures({ width, weight, pods, conflicts, markets, requirements }: MarketProblem): string[] {
  const texts = Array.from(pods, (_, item) => {
    const apart = conflicts[item]!.length > 0 ? `x${item}` : '';
    return `${weight.subarray(item * width, (item + 1) * width).join()}${apart}`;
  });
  const note = (items: Int32Array, mark: string): void => {
    for (const item of items) texts[item] = texts[item]! + mark;
  };
  markets.forEach(({ items, openers }, m) => {
    note(items, ` m${m}`);
    if (openers !== undefined) note(openers, ` o${m}`);
  });
  requirements.forEach(({ items }, r) => note(items, ` r${r}`));
  return texts;
}

/** The column of a content of a bin in a market. */
export type ContentColumn = Column & MarketContent;

/**
 * The rows of the linear program over contents of bins (items, requirements, limits, and markets with a limited number
 * of bins) and its columns.
 */
export class MarketRows {
  readonly items: number;
  /** Number of rows. */
  readonly count: number;
  readonly rhs: Float64Array;
  /** First rows of requirements, limits and limited markets. */
  readonly atRequirements: number;
  readonly atLimits: number;
  readonly atFew: number;
  /** By market: its row if its number of bins is limited. */
  readonly fewRow: Int32Array;
  /** By requirement: its items as bits. */
  private readonly inRequirement: readonly Uint8Array[];
  /** By market: its items as bits. */
  private readonly inMarket: readonly Uint8Array[];
  /** Number of bins evaluated. */
  work = 0;

  constructor(private readonly problem: MarketProblem) {
    const { markets, requirements, limits, pods } = problem;
    this.items = pods.length;
    this.atRequirements = this.items;
    this.atLimits = this.atRequirements + requirements.length;
    this.atFew = this.atLimits + limits.length;
    let next = this.atFew;
    this.fewRow = Int32Array.from(markets, ({ count }) => (count === undefined ? -1 : next++));
    this.count = next;
    this.rhs = new Float64Array(this.count);
    pods.forEach((count, item) => (this.rhs[item] = count));
    requirements.forEach(({ least }, r) => (this.rhs[this.atRequirements + r] = least));
    limits.forEach((left, l) => (this.rhs[this.atLimits + l] = -left));
    markets.forEach(({ count }, m) => {
      if (count !== undefined) this.rhs[this.fewRow[m]!] = -count;
    });
    this.inMarket = markets.map(({ items }) => bitsOf(items, this.items));
    this.inRequirement = requirements.map(({ items }) => bitsOf(items, this.items));
  }

  /**
   * For each item the cheapest bin by the share that a pod takes, which is the initial value of a pod; and for each set
   * of requirements the bin that holds a single pod at the lowest price.
   */
  begin(): { center: Float64Array; alone: ContentColumn[] } {
    const { markets, width, weight, pods } = this.problem;
    const center = new Float64Array(this.count);
    const share = new Float64Array(this.items).fill(Infinity);
    const alone = new Map<string, { readonly rate: number; readonly column: ContentColumn }>();
    markets.forEach((market, m) => {
      if (market.count !== undefined) return;
      const counted = market.requirements.join();
      for (const item of market.openers ?? market.items) {
        for (const [bin, { price, capacity }] of market.bins.entries()) {
          this.work++;
          let most = 0;
          for (let d = 0; d < width; d++) most = Math.max(most, weight[item * width + d]! / capacity[d]!);
          if (!(most <= 1)) continue;
          share[item] = Math.min(share[item]!, price * most);
          const count = Math.min(pods[item]!, most > 0 ? Math.floor(1 / most + 1e-9) : pods[item]!);
          const text = `${item} ${counted}`;
          const rate = price / count;
          if (rate >= (alone.get(text)?.rate ?? Infinity)) continue;
          alone.set(text, { rate, column: this.columnOf({ market: m, bin, items: [item], pods: [count] }) });
        }
      }
    });
    share.forEach((each, item) => (center[item] = each === Infinity ? 0 : each));
    return { center, alone: Array.from(alone.values(), ({ column }) => column) };
  }

  /**
   * The content in the cheapest bin that holds it, for each set of requirements to which it may count; not in limited
   * markets.
   */
  cheapest(content: Content): ContentColumn[] {
    const { markets, width, weight } = this.problem;
    const items = [...content.keys()];
    const pods = [...content.values()];
    const total = new Float64Array(width);
    items.forEach((item, k) => {
      for (let d = 0; d < width; d++) total[d] = total[d]! + pods[k]! * weight[item * width + d]!;
    });
    const best = new Map<string, { readonly market: number; readonly bin: number; readonly price: number }>();
    markets.forEach((market, m) => {
      if (market.count !== undefined || !items.every((item) => this.inMarket[m]![item] === 1)) return;
      const counted = market.requirements.join();
      for (const [bin, { price, capacity }] of market.bins.entries()) {
        this.work++;
        const known = best.get(counted);
        if (known !== undefined && price >= known.price) continue;
        if (capacity.every((amount, d) => amount >= total[d]!)) best.set(counted, { market: m, bin, price });
      }
    });
    return Array.from(best.values(), ({ market, bin }) => this.columnOf({ market, bin, items, pods }));
  }

  /** The column of a content of a bin. */
  columnOf(content: MarketContent): ContentColumn {
    const { market, bin, items, pods } = content;
    const { price, use } = this.problem.markets[market]!.bins[bin]!;
    const index = [...items];
    const values = [...pods];
    for (const requirement of this.problem.markets[market]!.requirements) {
      const bits = this.inRequirement[requirement]!;
      const inside = items.reduce((sum, item, k) => sum + (bits[item] === 1 ? pods[k]! : 0), 0);
      if (inside === 0) continue;
      index.push(this.atRequirements + requirement);
      values.push(inside);
    }
    use.forEach((each, limit) => {
      if (each === 0) return;
      index.push(this.atLimits + limit);
      values.push(-each);
    });
    if (this.fewRow[market]! >= 0) {
      index.push(this.fewRow[market]!);
      values.push(-1);
    }
    return { ...content, index, values, cost: price };
  }

  /** Value of a pod of each item in the bins of a market. */
  valuesIn({ requirements }: Market, duals: Float64Array): Float64Array {
    const value = duals.slice(0, this.items);
    for (const requirement of requirements) {
      const more = duals[this.atRequirements + requirement]!;
      if (more > 0) for (const item of this.problem.requirements[requirement]!.items) value[item] = value[item]! + more;
    }
    return value;
  }
}

export function bitsOf(list: Int32Array, length: number): Uint8Array {
  const bits = new Uint8Array(length);
  for (const each of list) bits[each] = 1;
  return bits;
}

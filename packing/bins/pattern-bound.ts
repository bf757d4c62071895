import { ContentSearch } from './best-content.js';
import type { Content, Market, MarketProblem } from './market.js';
import { mergeMarketItems } from './merge-market-items.js';
import { CoveringSimplex } from './simplex.js';

export interface PatternBound {
  /** No set of bins for all pods costs less. */
  readonly bound: number;
  /** What the linear program came to: no work makes the bound more than that. */
  readonly relaxation: number;
  readonly work: number;
}

/** Steps of a search for the best content at first; more once the program does not move any more. */
const fewSteps = 100;
const moreSteps = 8;
const manySteps = 400_000;
/** With more rows the program would take too much memory and time: nothing is proven then. */
const mostRows = 600;
/** Where the bound is so near to the linear program the rest is not worth much work. */
const nearEnough = 1 - 5e-4;
const equal = 1 - 1e-9;
/** The share of the units up to which the bound is brought nearer than that. */
const exactShare = 0.1;
/** After this share of the units a bound that is less than this share of another one is given up. */
const hopelessAfter = 0.3;
const hopeless = 0.85;
/** A content is added where it is worth so many times its price; less once there are none. */
const leastGain = 1 + 2e-4;
const anyGain = 1 + 1e-9;
/** The share of the best dual values so far in those that contents are looked for at. */
const inertia = 0.7;
/** New columns of a market in a round, at most. */
const perMarket = 6;

interface Column {
  readonly index: readonly number[];
  readonly values: readonly number[];
  readonly cost: number;
}

/**
 * Lower bound of the price of bins for all pods: the linear program over contents of whole bins, by column generation. It begins with the contents
 * `known`, those of a packing that is there already. Where it stays far below `otherBound` for a good part of the units, it is given up.
 */
export function patternBound(
  problem: MarketProblem,
  units: number,
  known: readonly Content[] = [],
  otherBound = 0,
): PatternBound {
  const { problem: merged, of } = mergeMarketItems(problem);
  const rows = merged.pods.length + merged.requirements.length + merged.limits.length;
  const few = merged.markets.filter(({ count }) => count !== undefined).length;
  if (rows + few > mostRows) return { bound: 0, relaxation: Infinity, work: 0 };
  const contents = known.map((content) => mergedContent(content, of));
  return new Program(merged).run(units, contents, otherBound);
}

function mergedContent(content: Content, of: Int32Array): Content {
  const merged = new Map<number, number>();
  for (const [item, pods] of content) merged.set(of[item]!, (merged.get(of[item]!) ?? 0) + pods);
  return merged;
}

class Program {
  private readonly search: ContentSearch;
  private readonly items: number;
  private readonly rows: number;
  private readonly rhs: Float64Array;
  /** First rows of requirements, limits and few bins. */
  private readonly atRequirements: number;
  private readonly atLimits: number;
  private readonly atFew: number;
  /** By market: its row where bins are few. */
  private readonly fewRow: Int32Array;
  private readonly multipliers: readonly (readonly Float64Array[])[];
  private readonly columns: Column[] = [];
  /** By requirement: its items as bits. */
  private readonly inRequirement: readonly Uint8Array[];
  /** By market: which items one of must be in each bin. */
  private readonly openers: readonly (Uint8Array | undefined)[];
  private work = 0;
  private gain = leastGain;

  constructor(private readonly problem: MarketProblem) {
    const { markets, requirements, limits, pods } = problem;
    this.search = new ContentSearch(problem);
    this.items = pods.length;
    this.atRequirements = this.items;
    this.atLimits = this.atRequirements + requirements.length;
    this.atFew = this.atLimits + limits.length;
    let next = this.atFew;
    this.fewRow = Int32Array.from(markets, ({ count }) => (count === undefined ? -1 : next++));
    this.rows = next;
    this.rhs = new Float64Array(this.rows);
    pods.forEach((count, item) => (this.rhs[item] = count));
    requirements.forEach(({ least }, r) => (this.rhs[this.atRequirements + r] = least));
    limits.forEach((left, l) => (this.rhs[this.atLimits + l] = -left));
    markets.forEach(({ count }, m) => {
      if (count !== undefined) this.rhs[this.fewRow[m]!] = -count;
    });
    this.multipliers = markets.map(({ bins }) => bins.map(() => new Float64Array(problem.width)));
    this.inRequirement = requirements.map(({ items }) => bitsOf(items, this.items));
    this.openers = markets.map(({ openers }) => (openers === undefined ? undefined : bitsOf(openers, this.items)));
  }

  run(units: number, known: readonly Content[], otherBound: number): PatternBound {
    const { center, alone } = this.begin();
    const simplex = this.start([...alone, ...known.map((content) => this.cheapest(content))]);
    let best: { bound: number; duals: Float64Array } = { bound: 0, duals: center };
    let steps = fewSteps;
    let relaxation = Infinity;
    let share = inertia;
    this.gain = leastGain;
    while (this.work + this.search.work < units) {
      const own = Float64Array.from(simplex.duals, (dual) => Math.max(0, dual));
      relaxation = this.objective(own);
      const isExact = this.work + this.search.work < units * exactShare;
      if (best.bound >= relaxation * (isExact ? equal : nearEnough)) break;
      const at = own.map((dual, row) => share * best.duals[row]! + (1 - share) * dual);
      const { bound, columns } = this.price(at, steps);
      if (bound > best.bound) best = { bound, duals: at };
      const isLate = this.work + this.search.work > units * hopelessAfter;
      if (isLate && best.bound < otherBound * hopeless) break;
      const moved = this.enter(simplex, columns);
      if (moved) {
        share = inertia;
        continue;
      }
      // Nothing at the values between: the program's own ones, then a longer search.
      if (share > 0) share = 0;
      else if (isExact && this.gain > anyGain) this.gain = anyGain;
      else if (steps >= manySteps) break;
      else steps *= moreSteps;
    }
    return { bound: best.bound, relaxation, work: this.work + this.search.work };
  }

  private objective(duals: Float64Array): number {
    let sum = 0;
    for (let row = 0; row < this.rows; row++) sum += this.rhs[row]! * duals[row]!;
    return sum;
  }

  /** For each item: the bin that is cheapest by the share that it takes, which is what a pod is worth to begin with; and the bin that holds it alone most cheaply. */
  private begin(): { center: Float64Array; alone: (Column | undefined)[] } {
    const { markets, width, weight, pods } = this.problem;
    const center = new Float64Array(this.rows);
    const alone = Array.from(pods, (): Column | undefined => undefined);
    const rate = new Float64Array(this.items).fill(Infinity);
    const share = new Float64Array(this.items).fill(Infinity);
    markets.forEach((market, m) => {
      if (market.count !== undefined) return;
      for (const item of market.openers ?? market.items) {
        for (const { price, capacity, use } of market.bins) {
          this.work++;
          let most = 0;
          for (let d = 0; d < width; d++) most = Math.max(most, weight[item * width + d]! / capacity[d]!);
          if (!(most <= 1)) continue;
          share[item] = Math.min(share[item]!, price * most);
          const count = Math.min(pods[item]!, most > 0 ? Math.floor(1 / most + 1e-9) : pods[item]!);
          if (price / count >= rate[item]!) continue;
          rate[item] = price / count;
          alone[item] = this.columnOf(m, { price, use }, [item], [count]);
        }
      }
    });
    share.forEach((each, item) => (center[item] = each === Infinity ? 0 : each));
    return { center, alone };
  }

  private start(alone: readonly (Column | undefined)[]): CoveringSimplex {
    const { markets } = this.problem;
    const dearest = markets.reduce((most, { bins }) => bins.reduce((sum, { price }) => Math.max(sum, price), most), 0);
    const isCover = (row: number): boolean => row < this.atLimits;
    const simplex = new CoveringSimplex(
      // Slightly different right-hand sides keep the simplex from cycling between degenerate solutions.
      this.rhs.map((each, row) => (isCover(row) ? each + 1e-7 * (1 + ((row * 7919) % 101)) : each)),
      Float64Array.from({ length: this.rows }, (_, row) => (isCover(row) ? 1 : -1)),
      Float64Array.from({ length: this.rows }, (_, row) => (isCover(row) ? 10 * dearest : 0)),
    );
    this.enter(
      simplex,
      alone.filter((column): column is Column => column !== undefined),
    );
    return simplex;
  }

  /** The content in the cheapest bin that holds it, none where bins are few. */
  private cheapest(content: Content): Column | undefined {
    const { markets, width, weight } = this.problem;
    const items = [...content.keys()];
    const pods = [...content.values()];
    const total = new Float64Array(width);
    items.forEach((item, k) => {
      for (let d = 0; d < width; d++) total[d] = total[d]! + pods[k]! * weight[item * width + d]!;
    });
    let best: { market: number; bin: Market['bins'][number] } | undefined;
    markets.forEach((market, m) => {
      const own = new Set(market.items);
      if (market.count !== undefined || !items.every((item) => own.has(item))) return;
      for (const bin of market.bins) {
        this.work++;
        if (bin.price >= (best?.bin.price ?? Infinity) || bin.capacity.some((amount, d) => amount < total[d]!))
          continue;
        best = { market: m, bin };
      }
    });
    return best && this.columnOf(best.market, best.bin, items, pods);
  }

  private columnOf(
    market: number,
    { price, use }: { readonly price: number; readonly use: Float64Array },
    items: readonly number[],
    pods: readonly number[],
  ): Column {
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
    return { index, values, cost: price };
  }

  /** Enters columns, and those from before again, while they lower the cost; returns whether some of these did. */
  private enter(simplex: CoveringSimplex, columns: readonly Column[]): boolean {
    const from = this.columns.length;
    this.columns.push(...columns);
    let some = false;
    for (let moved = true; moved;) {
      moved = false;
      for (let at = this.columns.length - 1; at >= 0; at--) {
        const { index, values, cost } = this.columns[at]!;
        this.work++;
        if (!simplex.enter(index, values, cost, this.rows + at)) continue;
        this.work += (this.rows * this.rows) >> 4;
        moved = true;
        some ||= at >= from;
        while (simplex.enterSurplus()) this.work += (this.rows * this.rows) >> 4;
      }
    }
    return some;
  }

  /** The best contents at these dual values, and the bound that they prove once scaled so that none is worth more than its price. */
  private price(duals: Float64Array, steps: number): { bound: number; columns: Column[] } {
    const { markets, limits } = this.problem;
    const columns: Column[] = [];
    // By market: how many times its price the best content is worth; in bins that are few, what all of them are worth together.
    const excess = new Float64Array(markets.length).fill(1);
    const free = new Float64Array(markets.length);
    markets.forEach((market, m) => {
      const value = this.valuesIn(market, duals);
      const scarce = this.fewRow[m]! >= 0 ? duals[this.fewRow[m]!]! : 0;
      const found: { readonly rate: number; readonly column: Column }[] = [];
      market.bins.forEach(({ price, capacity, use }, b) => {
        const limited = limits.reduce((sum, _, l) => sum + duals[this.atLimits + l]! * use[l]!, 0);
        const cost = price + limited + scarce;
        const bin = { capacity, multipliers: this.multipliers[m]![b]! };
        const asked = { floor: cost * this.gain, steps, openers: this.openers[m] };
        const best = this.search.run(bin, market.items, value, asked);
        if (market.count === undefined) excess[m] = Math.max(excess[m]!, best.most / cost);
        else free[m] = market.count * best.most;
        if (best.found === undefined) return;
        const { worth, items, pods } = best.found;
        found.push({ rate: worth / (cost + 1e-9), column: this.columnOf(m, { price, use }, items, pods) });
      });
      found.sort((a, b) => b.rate - a.rate);
      for (const { column } of found.slice(0, perMarket)) columns.push(column);
    });
    return { bound: this.proven(duals, excess, free), columns };
  }

  /** The bound by dual values that are scaled down by the worst market that each counts in. What limits are worth stays. */
  private proven(duals: Float64Array, excess: Float64Array, free: Float64Array): number {
    const { markets, requirements } = this.problem;
    const scale = new Float64Array(this.rows).fill(1);
    const note = (row: number, m: number): void => {
      scale[row] = Math.max(scale[row]!, excess[m]!);
    };
    markets.forEach((market, m) => {
      for (const item of market.items) note(item, m);
      for (const requirement of market.requirements) note(this.atRequirements + requirement, m);
    });
    let total = 0;
    for (let row = 0; row < this.atFew; row++) total += (this.rhs[row]! * duals[row]!) / scale[row]!;
    markets.forEach((market, m) => {
      if (free[m]! === 0) return;
      let least = Infinity;
      for (const item of market.items) least = Math.min(least, scale[item]!);
      for (const requirement of market.requirements) {
        if (requirements[requirement]!.items.length > 0)
          least = Math.min(least, scale[this.atRequirements + requirement]!);
      }
      total -= free[m]! / least;
    });
    return total;
  }

  /** What a pod of each item is worth in the bins of a market. */
  private valuesIn({ requirements }: Market, duals: Float64Array): Float64Array {
    const value = duals.slice(0, this.items);
    for (const requirement of requirements) {
      const more = duals[this.atRequirements + requirement]!;
      if (more > 0) for (const item of this.problem.requirements[requirement]!.items) value[item] = value[item]! + more;
    }
    return value;
  }
}

function bitsOf(list: Int32Array, length: number): Uint8Array {
  const bits = new Uint8Array(length);
  for (const each of list) bits[each] = 1;
  return bits;
}

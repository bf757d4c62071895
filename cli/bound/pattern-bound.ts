import { ContentSearch } from '../../packing/bins/best-content.js';
import type { Content, MarketContent, MarketProblem } from './market.js';
import { bitsOf, type ContentColumn, MarketRows, mergeMarketItems } from './market-rows.js';
import { CoveringSimplex } from '../../packing/bins/simplex.js';

export interface PatternBound {
  /** Lower bound of the price of bins for all pods. */
  readonly bound: number;
  /** Optimum of the linear program, which the bound cannot exceed. */
  readonly relaxation: number;
  readonly work: number;
  /** Fractional numbers of bins in the solution of the linear program. */
  readonly counts: readonly BinCount[];
  /** Contents found, with merged items: input `contents` of another bound of the same items. */
  readonly contents: readonly MarketContent[];
}

export interface BinCount {
  readonly market: number;
  readonly bin: number;
  readonly count: number;
}

/** Value of limited bins: their number, the highest value of one, and the value of their use of limits. */
interface Free {
  readonly count: number;
  readonly most: number;
  readonly limited: number;
}

/** Known contents of a problem. */
interface KnownContents {
  /** Of bins of an existing packing. */
  readonly packed?: readonly Content[];
  /** Of bins of the markets, with merged items. */
  readonly contents?: readonly MarketContent[];
}

/** Initial step limit of a search for the best content; raised once the program stalls. */
const fewSteps = 100;
const moreSteps = 8;
const manySteps = 400_000;
/** With more rows the program would take too much memory and time: nothing is proven then. */
const mostRows = 600;
/** If the bound is this close to the optimum of the linear program, little more work is spent on it. */
const nearEnough = 1 - 5e-4;
const equal = 1 - 1e-9;
/** Share of the units spent on improving the bound beyond that. */
const exactShare = 0.1;
/** After this share of the units, a bound below this share of another bound is abandoned. */
const hopelessAfter = 0.5;
const hopeless = 0.85;
/** A content is added if its value is at least this many times its price; less once there are none. */
const leastGain = 1 + 2e-4;
const anyGain = 1 + 1e-9;
/**
 * Dual smoothing: contents are searched at a weighted mean of the best duals so far, with this share, and the current
 * ones.
 */
const bestDualsShare = 0.7;
/** Maximum number of new columns of a market in a round; more if there are few markets. */
const perMarket = 6;
const perRound = 48;

/**
 * Lower bound of the price of bins for all pods: the linear program over contents of whole bins, by column generation,
 * starting with the known contents. Abandoned if it stays far below `otherBound` for a good part of the units.
 */
export function patternBound(
  problem: MarketProblem,
  units: number,
  { packed = [], contents = [] }: KnownContents = {},
  otherBound = 0,
): PatternBound {
  const { problem: merged, of } = mergeMarketItems(problem);
  const rows = merged.pods.length + merged.requirements.length + merged.limits.length;
  const few = merged.markets.filter(({ count }) => count !== undefined).length;
  if (rows + few > mostRows) return { bound: 0, relaxation: Infinity, work: 0, counts: [], contents: [] };
  const known = packed.map((content) => mergedContent(content, of));
  return new Program(merged).run(units, { packed: known, contents }, otherBound);
}

function mergedContent(content: Content, of: Int32Array): Content {
  const merged = new Map<number, number>();
  for (const [item, pods] of content) merged.set(of[item]!, (merged.get(of[item]!) ?? 0) + pods);
  return merged;
}

class Program {
  private readonly search: ContentSearch;
  private readonly rows: MarketRows;
  private readonly multipliers: readonly (readonly Float64Array[])[];
  private readonly columns: ContentColumn[] = [];
  /** By market: the items of which each bin must hold one. */
  private readonly openers: readonly (Uint8Array | undefined)[];
  private work = 0;
  private gain = leastGain;

  constructor(private readonly problem: MarketProblem) {
    const { markets, pods } = problem;
    this.search = new ContentSearch(problem);
    this.rows = new MarketRows(problem);
    this.multipliers = markets.map(({ bins }) => bins.map(() => new Float64Array(problem.width)));
    this.openers = markets.map(({ openers }) => (openers === undefined ? undefined : bitsOf(openers, pods.length)));
  }

  run(units: number, { packed, contents }: Required<KnownContents>, otherBound: number): PatternBound {
    const { center, alone } = this.rows.begin();
    const simplex = this.start([
      ...alone,
      ...packed.flatMap((content) => this.rows.cheapest(content)),
      ...contents.map((content) => this.rows.columnOf(content)),
    ]);
    let best: { bound: number; duals: Float64Array } = { bound: 0, duals: center };
    let steps = fewSteps;
    let relaxation = Infinity;
    let share = 1;
    this.gain = leastGain;
    while (this.spent < units) {
      const own = Float64Array.from(simplex.duals, (dual) => Math.max(0, dual));
      relaxation = this.objective(own);
      const isExact = this.spent < units * exactShare;
      if (best.bound >= relaxation * (isExact ? equal : nearEnough)) break;
      const at = own.map((dual, row) => share * best.duals[row]! + (1 - share) * dual);
      const { bound, reachable, columns } = this.price(at, steps);
      // The bound is low because searches ended early: allow them more steps.
      if (bound <= best.bound && best.bound < reachable * nearEnough) steps = Math.min(manySteps, 2 * steps);
      if (bound > best.bound) best = { bound, duals: at };
      const isLate = this.spent > units * hopelessAfter;
      if (isLate && best.bound < otherBound * hopeless) break;
      const moved = this.enter(simplex, columns);
      if (moved) {
        share = bestDualsShare;
        continue;
      }
      // No content was found at the mean of the duals. Next try the program's duals, then a longer search.
      if (share > 0) share = 0;
      else if (isExact && this.gain > anyGain) this.gain = anyGain;
      else if (steps >= manySteps) break;
      else steps = Math.min(manySteps, moreSteps * steps);
    }
    const counts = this.countsOf(simplex);
    return { bound: best.bound, relaxation, work: this.spent, counts, contents: this.columns };
  }

  private countsOf({ basis, level }: CoveringSimplex): BinCount[] {
    const counts = new Map<string, BinCount>();
    basis.forEach((number, row) => {
      const column = this.columns[number - this.rows.count];
      if (column === undefined) return;
      const { market, bin } = column;
      const text = `${market} ${bin}`;
      counts.set(text, { market, bin, count: (counts.get(text)?.count ?? 0) + level[row]! });
    });
    return [...counts.values()];
  }

  private get spent(): number {
    return this.work + this.rows.work + this.search.work;
  }

  private get pivotWork(): number {
    return (this.rows.count * this.rows.count) >> 4;
  }

  private objective(duals: Float64Array): number {
    let sum = 0;
    for (let row = 0; row < this.rows.count; row++) sum += this.rows.rhs[row]! * duals[row]!;
    return sum;
  }

  private start(columns: readonly ContentColumn[]): CoveringSimplex {
    const { markets } = this.problem;
    const dearest = markets.reduce((most, { bins }) => bins.reduce((sum, { price }) => Math.max(sum, price), most), 0);
    const isCover = (row: number): boolean => row < this.rows.atLimits;
    const simplex = new CoveringSimplex(
      // Slightly different right-hand sides keep the simplex from cycling between degenerate solutions.
      this.rows.rhs.map((each, row) => (isCover(row) ? each + 1e-7 * (1 + ((row * 7919) % 101)) : each)),
      Float64Array.from({ length: this.rows.count }, (_, row) => (isCover(row) ? 1 : -1)),
      Float64Array.from({ length: this.rows.count }, (_, row) => (isCover(row) ? 10 * dearest : 0)),
    );
    this.enter(simplex, columns);
    return simplex;
  }

  /** Enters columns, and earlier ones again, while they lower the cost; returns whether any of these did. */
  private enter(simplex: CoveringSimplex, columns: readonly ContentColumn[]): boolean {
    const from = this.columns.length;
    this.columns.push(...columns);
    let some = false;
    for (let moved = true; moved;) {
      moved = false;
      for (let at = this.columns.length - 1; at >= 0; at--) {
        const { index, values, cost } = this.columns[at]!;
        this.work++;
        if (!simplex.enter(index, values, cost, this.rows.count + at)) continue;
        this.work += this.pivotWork;
        moved = true;
        some ||= at >= from;
        while (simplex.enterSurplus()) this.work += this.pivotWork;
      }
    }
    return some;
  }

  /**
   * The best contents at these duals, and the proven bound after scaling so that no content is worth more than its
   * price.
   */
  private price(duals: Float64Array, steps: number): { bound: number; reachable: number; columns: ContentColumn[] } {
    const { markets, limits } = this.problem;
    const columns: ContentColumn[] = [];
    // By market: value of the best content as a multiple of its price; for limited bins, the total value of all.
    const excess = new Float64Array(markets.length).fill(1);
    const free = markets.map((): Free => ({ count: 0, most: 0, limited: 0 }));
    const least = new Float64Array(markets.length).fill(1);
    const most = Math.max(perMarket, Math.ceil(perRound / markets.length));
    markets.forEach((market, m) => {
      const value = this.rows.valuesIn(market, duals);
      const scarce = this.rows.fewRow[m]! >= 0 ? duals[this.rows.fewRow[m]!]! : 0;
      const found: { readonly rate: number; readonly column: ContentColumn }[] = [];
      market.bins.forEach(({ price, capacity, use }, b) => {
        const limited = limits.reduce((sum, _, l) => sum + duals[this.rows.atLimits + l]! * use[l]!, 0);
        const cost = price + limited + scarce;
        const bin = { capacity, multipliers: this.multipliers[m]![b]! };
        const asked = { floor: cost * this.gain, steps, openers: this.openers[m] };
        const best = this.search.run(bin, market.items, value, asked);
        if (market.count === undefined) {
          excess[m] = Math.max(excess[m]!, best.most / cost);
          least[m] = Math.max(least[m]!, (best.found?.worth ?? 0) / cost);
        } else free[m] = { count: market.count, most: best.most, limited };
        if (best.found === undefined) return;
        const { worth, items, pods } = best.found;
        found.push({ rate: worth / (cost + 1e-9), column: this.rows.columnOf({ market: m, bin: b, items, pods }) });
      });
      found.sort((a, b) => b.rate - a.rate);
      for (const { column } of found.slice(0, most)) columns.push(column);
    });
    return { bound: this.proven(duals, excess, free), reachable: this.proven(duals, least, free), columns };
  }

  /** The bound by duals scaled down by the worst market in which each counts. Duals of limits stay. */
  private proven(duals: Float64Array, excess: Float64Array, free: readonly Free[]): number {
    const { markets, requirements } = this.problem;
    const scale = new Float64Array(this.rows.count).fill(1);
    const note = (row: number, m: number): void => {
      scale[row] = Math.max(scale[row]!, excess[m]!);
    };
    markets.forEach((market, m) => {
      for (const item of market.items) note(item, m);
      for (const requirement of market.requirements) note(this.rows.atRequirements + requirement, m);
    });
    let total = 0;
    for (let row = 0; row < this.rows.atFew; row++) total += (this.rows.rhs[row]! * duals[row]!) / scale[row]!;
    markets.forEach((market, m) => {
      const { count, most, limited } = free[m]!;
      if (count === 0) return;
      let least = Infinity;
      for (const item of market.items) least = Math.min(least, scale[item]!);
      for (const requirement of market.requirements) {
        if (requirements[requirement]!.items.length > 0)
          least = Math.min(least, scale[this.rows.atRequirements + requirement]!);
      }
      total -= count * Math.max(0, most / least - limited);
    });
    return total;
  }
}

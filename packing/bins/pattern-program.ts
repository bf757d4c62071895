import { Columns } from './columns.js';
import type { CompiledProblem } from './compile.js';
import type { Knapsack } from './knapsack.js';
import type { LimitUsage } from './limits.js';
import { OfferContents } from './offer-contents.js';
import { isOpened } from './openers.js';
import { CoveringSimplex } from './simplex.js';
import { priceFloor } from './valuation.js';

/** Step limit of the search for one pattern of an offer. */
const fillSteps = 40;
/**
 * Step limit of branch and bound, used once that search finds no more patterns. 60 or 400 steps give equally cheap
 * plans.
 */
const searchSteps = 100;
/** Maximum number of new patterns in a round. */
const perRound = 12;
/** A pattern is added if its worth is at least this many times its price. */
const leastGain = 1.0005;
/**
 * Dual smoothing: patterns are priced at a weighted mean of the previous duals, with this share, and the current ones.
 */
const dualsBeforeShare = 0.5;

/** Possible content of a bin: whole pods that caps and conflicts admit together. */
interface Pattern {
  readonly offer: number;
  readonly items: Int32Array;
  readonly pods: Int32Array;
}

/** A limit that some offer uses. */
interface LimitRow {
  readonly limit: number;
  /** By offer. */
  readonly use: Float64Array;
  readonly unit: number;
}

/** An offer whose content may be worth more than `price`: the cost of a bin plus the worth of its use of limits. */
interface PromisingOffer {
  readonly offer: number;
  readonly price: number;
  readonly rate: number;
}

/** A solution of the linear program: its cost, and the number of bins of each pattern, by index in the pool. */
export interface Solved {
  readonly cost: number;
  readonly levels: ReadonlyMap<number, number>;
}

/**
 * The linear program over patterns of whole bins, solved by column generation for the remaining pods. Patterns found
 * once are kept in a pool.
 */
export class PatternProgram {
  readonly pool: Pattern[] = [];
  work = 0;
  /** The columns of the current program, and how many patterns of the pool were considered for it. */
  private columns = new Columns();
  private offered = 0;
  /** Keys of the patterns in the pool, to detect duplicates. */
  private readonly known = new Set<string>();
  /** Row of each item in the program; -1 for items without remaining pods. */
  private readonly rowOf: Int32Array;
  private readonly limits: readonly LimitRow[];
  private contents: OfferContents | undefined;
  /** Cost of an unplaced pod in the program: more than any bin costs. */
  private readonly penalty: number;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly limitUsage: LimitUsage,
    private readonly knapsack: Knapsack,
    known: readonly Pattern[],
  ) {
    this.rowOf = new Int32Array(compiled.items);
    this.limits = limitRows(compiled);
    for (const pattern of known) this.add(pattern);
    this.penalty = 10 * known.reduce((most, { offer }) => Math.max(most, compiled.price[offer]!), 0);
  }

  /**
   * Solves the program for the remaining pods of these items; undefined if pods stay unplaced. Generates patterns until
   * none lowers the cost, at most `rounds` times, and stops once `until` units of work are used.
   */
  solve(rows: Int32Array, left: Int32Array, until: number, rounds = Infinity): Solved | undefined {
    this.rowOf.fill(-1);
    rows.forEach((item, row) => (this.rowOf[item] = row));
    this.columns = new Columns();
    this.offered = 0;
    const simplex = this.begin(rows, left);
    this.enter(simplex, left);
    const before = new Float64Array(simplex.duals.length);
    let share = 0;
    const thorough = rounds === Infinity;
    for (let round = 0; round < rounds && this.work < until; round++) {
      for (let r = 0; r < before.length; r++)
        before[r] = share * before[r]! + (1 - share) * Math.max(0, simplex.duals[r]!);
      if (this.entersNew(simplex, left, () => this.fillBins(rows, before, left)))
        share = thorough ? dualsBeforeShare : 0;
      else if (share > 0) share = 0;
      else if (!thorough || !this.entersNew(simplex, left, () => this.searchContents(rows, before, left))) break;
    }
    return this.readOff(simplex, rows.length);
  }

  /** Creates a row for each item and each limit. An artificial column of high cost covers each item at first. */
  private begin(rows: Int32Array, left: Int32Array): CoveringSimplex {
    const { limits, limitUsage } = this;
    return new CoveringSimplex(
      // Slightly different right-hand sides keep the simplex from cycling between degenerate solutions.
      Float64Array.of(
        ...Array.from(rows, (item, row) => left[item]! + 1e-7 * ((row * 7919) % 101)),
        ...limits.map(({ limit, unit }) => -Math.max(0, limitUsage.left(limit)) / unit),
      ),
      Float64Array.of(...Array.from(rows, () => 1), ...limits.map(() => -1)),
      Float64Array.of(...Array.from(rows, () => this.penalty), ...limits.map(() => 0)),
    );
  }

  /** Enters patterns of the pool while they lower the cost; returns whether any did. */
  private enter(simplex: CoveringSimplex, left: Int32Array): boolean {
    const { columns, pool } = this;
    const rows = simplex.duals.length;
    for (; this.offered < pool.length; this.offered++) this.offer(this.offered, rows, left);
    for (let some = false; ; some = true) {
      this.work += columns.count + ((rows * rows) >> 4);
      const column = columns.best(simplex.duals, 0);
      if (column < 0) return some;
      const { index, values, cost } = columns.at(column);
      if (!simplex.enter(index, values, cost, rows + columns.origin(column))) return some;
      while (simplex.enterSurplus()) this.work += (rows * rows) >> 4;
    }
  }

  /** Makes a column of a pattern, unless too much of its content is placed already. */
  private offer(place: number, rows: number, left: Int32Array): void {
    const { compiled, rowOf, limits } = this;
    const { offer, items, pods } = this.pool[place]!;
    const index: number[] = [];
    const values: number[] = [];
    for (let k = 0; k < items.length; k++) {
      const row = rowOf[items[k]!]!;
      if (row < 0) continue;
      index.push(row);
      values.push(Math.min(pods[k]!, left[items[k]!]!));
    }
    if (3 * index.length < 2 * items.length) return;
    if (!isOpened(compiled, offer, items, (item) => rowOf[item]! >= 0)) return;
    limits.forEach(({ use, unit }, l) => {
      if (use[offer]! === 0) return;
      index.push(rows - limits.length + l);
      values.push(-use[offer]! / unit);
    });
    this.columns.add({ index, values, cost: compiled.price[offer]! }, place);
  }

  /** Whether `find` adds patterns that lower the cost. */
  private entersNew(simplex: CoveringSimplex, left: Int32Array, find: () => void): boolean {
    const known = this.pool.length;
    find();
    return this.pool.length > known && this.enter(simplex, left);
  }

  /** Adds patterns to the pool that are worth more than their price at these duals; quick search. */
  private fillBins(rows: Int32Array, duals: Float64Array, left: Int32Array): void {
    const { knapsack } = this;
    knapsack.maxSteps = fillSteps;
    const value = this.valuesAt(rows, duals);
    this.addPatterns(this.promising(value, duals, rows.length, left), (offer, price) =>
      knapsack.fill(offer, price) > price ? knapsack.found() : undefined,
    );
    this.work += knapsack.work;
    knapsack.work = 0;
  }

  /** Adds patterns by branch and bound. */
  private searchContents(rows: Int32Array, duals: Float64Array, left: Int32Array): void {
    const { compiled } = this;
    this.contents ??= new OfferContents(compiled);
    const { contents } = this;
    const value = this.valuesAt(rows, duals);
    contents.aim(value, left);
    this.addPatterns(this.promising(value, duals, rows.length, left), (offer, price) =>
      contents.best(offer, { floor: price, steps: searchSteps }),
    );
    this.work += this.knapsack.work + contents.work;
    this.knapsack.work = 0;
    contents.work = 0;
  }

  private valuesAt(rows: Int32Array, duals: Float64Array): Float64Array {
    const value = new Float64Array(this.compiled.items);
    rows.forEach((item, row) => (value[item] = duals[row]!));
    return value;
  }

  /**
   * The offers whose content may be worth more than their price, those with the highest possible worth per price first.
   */
  private promising(value: Float64Array, duals: Float64Array, rows: number, left: Int32Array): PromisingOffer[] {
    const { compiled, knapsack, limits, limitUsage } = this;
    knapsack.aim(value, left);
    const offers: PromisingOffer[] = [];
    for (let offer = 0; offer < compiled.offers; offer++) {
      if (!limitUsage.allows(offer)) continue;
      let limited = 0;
      limits.forEach(({ use, unit }, l) => (limited += (duals[rows + l]! * use[offer]!) / unit));
      const price = (compiled.price[offer]! + limited) * leastGain;
      const ceiling = knapsack.ceiling(offer);
      if (ceiling > price * (1 + 1e-9)) offers.push({ offer, price, rate: ceiling / (price + priceFloor) });
    }
    this.work += compiled.offers;
    return offers.sort((a, b) => b.rate - a.rate || a.offer - b.offer);
  }

  /** Adds a content for each offer that is worth more than `price`, until enough were found. */
  private addPatterns(
    offers: readonly PromisingOffer[],
    contentOf: (offer: number, price: number) => Omit<Pattern, 'offer'> | undefined,
  ): void {
    let found = 0;
    for (const { offer, price } of offers) {
      const content = contentOf(offer, price);
      if (content !== undefined && this.add({ offer, ...content }) && ++found >= perRound) break;
    }
  }

  /** Adds the pattern to the pool; returns whether it is new. */
  add({ offer, items, pods }: Pattern): boolean {
    const text = `${offer} ${items.join()} ${pods.join()}`;
    if (this.known.has(text)) return false;
    this.known.add(text);
    this.pool.push({ offer, items, pods });
    return true;
  }

  private readOff({ basis, level }: CoveringSimplex, items: number): Solved | undefined {
    const levels = new Map<number, number>();
    const rows = basis.length;
    let cost = 0;
    for (const [row, number] of basis.entries()) {
      if (number >= 0 && number < items && level[row]! > 1e-6) return undefined;
      if (number < rows) continue;
      const place = number - rows;
      levels.set(place, (levels.get(place) ?? 0) + level[row]!);
      cost += level[row]! * this.compiled.price[this.pool[place]!.offer]!;
    }
    return { cost, levels };
  }
}

function limitRows({ limitRemaining, limitUse, offers }: CompiledProblem): LimitRow[] {
  return Array.from(limitRemaining.keys()).flatMap((limit) => {
    const use = limitUse.slice(limit * offers, (limit + 1) * offers);
    const unit = use.reduce((most, each) => Math.max(most, each), 0);
    return unit > 0 ? [{ limit, use, unit }] : [];
  });
}

import { Columns, type Column } from './columns.js';
import type { CompiledProblem } from './compile.js';
import { LimitUsage } from './limits.js';
import { priceFloor } from './valuation.js';
import { Knapsack } from './knapsack.js';
import type { BinGroup } from './plan.js';
import { CoveringSimplex } from './simplex.js';

/** Problems with more items times offers are not tried: the program would take too long. */
const largest = 6000;
/** Steps of the search for one pattern of an offer: few, and more once that finds none any more. */
const fewSteps = 40;
const manySteps = 160;
/** Rounds of new patterns for all pods, and for the remaining ones after some bins are taken. */
const firstRounds = 400;
const laterRounds = 3;
/** New patterns in a round, at most. */
const perRound = 12;
/** Bounds the passes over the pool. It converges long before. */
const mostPasses = 100;
/** A pattern must be worth this many times its price to be added. */
const leastGain = 1.0005;
/** The relaxation must cost at most this share of the known price, or rounding it would gain nothing. */
const promisingShare = 0.998;

/** What a bin may hold: whole pods that caps and conflicts admit together. */
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

/** A solution of the linear program: its cost, and the number of bins of each pattern, by place in the pool. */
interface Solved {
  readonly cost: number;
  readonly levels: ReadonlyMap<number, number>;
}

/**
 * Packs all of `left` by column generation. The columns are patterns of whole bins, which respect caps and conflicts. The solution
 * of the linear program is rounded down to whole bins, the program is solved again for the remaining pods, and so on. It starts with
 * the bins `known`, which cost `price`. Undefined if the relaxation costs hardly less than `price`, if limits admit no bins, or if the
 * problem is too large.
 */
export function packPatterns(
  compiled: CompiledProblem,
  items: Int32Array,
  left: Int32Array,
  { known, price }: { known: readonly BinGroup[]; price: number },
): BinGroup[] | undefined {
  const wanted = items.filter((item) => left[item]! > 0);
  if (wanted.length === 0 || wanted.length * compiled.offers > largest) return undefined;
  return new PatternProgram(compiled, wanted, left, known).run(price);
}

class PatternProgram {
  private readonly pool: Pattern[] = [];
  /** The columns of the pool in the program that is being solved. */
  private columns = new Columns();
  /** The patterns of the pool as text, to find equal ones. */
  private readonly known = new Set<string>();
  private readonly left: Int32Array;
  private readonly knapsack: Knapsack;
  /** Row of each item in the program; -1 for items without remaining pods. */
  private readonly rowOf: Int32Array;
  private readonly limitUsage: LimitUsage;
  private readonly limits: readonly LimitRow[];
  /** Cost of leaving a pod unplaced in the program: more than any bin costs. */
  private readonly penalty: number;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly items: Int32Array,
    left: Int32Array,
    known: readonly BinGroup[],
  ) {
    this.left = Int32Array.from(left);
    this.rowOf = new Int32Array(compiled.items);
    this.knapsack = new Knapsack(compiled, items);
    this.limitUsage = new LimitUsage(compiled);
    this.limits = limitRows(compiled);
    for (const { offer, items: inside, pods } of known) this.add({ offer, items: inside, pods });
    this.penalty = 10 * known.reduce((most, { offer }) => Math.max(most, compiled.price[offer]!), 0);
  }

  run(price: number): BinGroup[] | undefined {
    const out: BinGroup[] = [];
    let rows = this.items;
    for (let first = true; rows.length > 0; first = false) {
      const solved = this.solve(rows, first);
      if (solved === undefined || (first && solved.cost > price * promisingShare)) return undefined;
      if (!this.takeWholeBins(solved.levels, out)) return undefined;
      rows = rows.filter((item) => this.left[item]! > 0);
    }
    return out;
  }

  /** Solves the program for the remaining pods of these items; undefined if it leaves pods unplaced. */
  private solve(rows: Int32Array, first: boolean): Solved | undefined {
    const { compiled, pool } = this;
    this.rowOf.fill(-1);
    rows.forEach((item, row) => (this.rowOf[item] = row));
    this.columns = new Columns();
    const simplex = this.begin(rows);
    this.enter(simplex, 0);
    const value = new Float64Array(compiled.items);
    for (let round = first ? firstRounds : laterRounds; round > 0; round--) {
      rows.forEach((item, row) => (value[item] = Math.max(0, simplex.duals[row]!)));
      const scarcity = this.limits.map((_, l) => Math.max(0, simplex.duals[rows.length + l]!));
      const before = pool.length;
      this.findPatterns(value, scarcity, fewSteps);
      if (first && pool.length === before) this.findPatterns(value, scarcity, manySteps);
      if (!this.enter(simplex, before)) break;
      this.enter(simplex, 0);
    }
    return this.readOff(simplex, rows.length);
  }

  /** A row for each item, covered at first by a column of high cost that stands for no bin, and a row for each limit. */
  private begin(rows: Int32Array): CoveringSimplex {
    const { left, limits, limitUsage } = this;
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

  /** Enters patterns from place `from` on while they lower the cost; returns whether some did. */
  private enter(simplex: CoveringSimplex, from: number): boolean {
    const { columns } = this;
    const rows = simplex.duals.length;
    while (columns.count < this.pool.length) columns.add(this.columnOf(columns.count, rows));
    let some = false;
    for (let moved = true, passes = 0; moved && passes < mostPasses; passes++) {
      moved = false;
      let place = columns.firstUnder(simplex.duals, from);
      for (; place < columns.count; place = columns.firstUnder(simplex.duals, place + 1)) {
        const { index, values, cost } = columns.at(place);
        if (!simplex.enter(index, values, cost, rows + place)) continue;
        moved = true;
        while (simplex.enterSurplus());
      }
      some ||= moved;
    }
    return some;
  }

  private columnOf(place: number, rows: number): Column {
    const { compiled, left, rowOf, limits } = this;
    const { offer, items, pods } = this.pool[place]!;
    const index: number[] = [];
    const values: number[] = [];
    for (let k = 0; k < items.length; k++) {
      const row = rowOf[items[k]!]!;
      if (row < 0) continue;
      index.push(row);
      values.push(Math.min(pods[k]!, left[items[k]!]!));
    }
    limits.forEach(({ use, unit }, l) => {
      if (use[offer]! === 0) return;
      index.push(rows - limits.length + l);
      values.push(-use[offer]! / unit);
    });
    return { index, values, cost: compiled.price[offer]! };
  }

  /** Adds the patterns to the pool that are worth most for their price. */
  private findPatterns(value: Float64Array, scarcity: readonly number[], steps: number): void {
    const { compiled, knapsack, limits, limitUsage } = this;
    const found: { readonly rate: number; readonly pattern: Pattern }[] = [];
    knapsack.maxSteps = steps;
    knapsack.aim(value, this.left);
    for (let offer = 0; offer < compiled.offers; offer++) {
      if (!limitUsage.allows(offer)) continue;
      const limited = limits.reduce((sum, { use, unit }, l) => sum + (scarcity[l]! * use[offer]!) / unit, 0);
      const price = (compiled.price[offer]! + limited) * leastGain;
      const worth = knapsack.fill(offer, price);
      if (worth > price) found.push({ rate: worth / (price + priceFloor), pattern: { offer, ...knapsack.found() } });
    }
    found.sort((a, b) => b.rate - a.rate);
    for (const { pattern } of found.slice(0, perRound)) this.add(pattern);
  }

  private add(pattern: Pattern): void {
    const text = `${pattern.offer} ${pattern.items.join()} ${pattern.pods.join()}`;
    if (this.known.has(text)) return;
    this.known.add(text);
    this.pool.push(pattern);
  }

  /** Takes the whole bins of the solution, or else the pattern with the highest fraction; returns false if there is none. */
  private takeWholeBins(levels: Solved['levels'], out: BinGroup[]): boolean {
    const { pool, limitUsage } = this;
    let surest = -1;
    let highest = 0;
    let some = false;
    for (const [place, level] of levels) {
      const times = Math.min(Math.floor(level + 1e-6), this.mostOf(place));
      if (times > 0) {
        this.take(place, times, out);
        some = true;
      } else if (level > highest && limitUsage.allows(pool[place]!.offer)) {
        highest = level;
        surest = place;
      }
    }
    if (!some && surest >= 0) this.take(surest, 1, out);
    return some || surest >= 0;
  }

  /** How many bins of the pattern the remaining pods fill and limits allow. */
  private mostOf(place: number): number {
    const { offer, items, pods } = this.pool[place]!;
    const most = this.limitUsage.most(offer);
    return items.reduce((least, item, k) => Math.min(least, Math.floor(this.left[item]! / pods[k]!)), most);
  }

  /** Takes bins of the pattern, each as the cheapest offer that holds its content. */
  private take(place: number, times: number, out: BinGroup[]): void {
    const { left } = this;
    const pattern = this.pool[place]!;
    const inside = [...pattern.items.keys()].filter((k) => left[pattern.items[k]!]! > 0);
    const items = Int32Array.from(inside, (k) => pattern.items[k]!);
    const pods = Int32Array.from(inside, (k) => Math.min(pattern.pods[k]!, left[pattern.items[k]!]!));
    items.forEach((item, k) => (left[item] = left[item]! - times * pods[k]!));
    const offer = this.cheapest(pattern.offer, items, pods, times);
    this.limitUsage.use(offer, times);
    out.push({ offer, items, pods, times });
  }

  /** The cheapest offer that holds the content and of which limits allow `times` bins; `offer` is one. */
  private cheapest(offer: number, items: Int32Array, pods: Int32Array, times: number): number {
    const { dims, demand, shapeOf, setOf, inSet, sets, capacity, price } = this.compiled;
    const content = new Float64Array(dims);
    items.forEach((item, k) => {
      for (let d = 0; d < dims; d++) content[d] = content[d]! + pods[k]! * demand[shapeOf[item]! * dims + d]!;
    });
    for (let o = 0; price[o]! < price[offer]!; o++) {
      const fits = content.every((amount, d) => amount <= capacity[o * dims + d]!) && this.limitUsage.most(o) >= times;
      if (fits && items.every((item) => inSet[o * sets + setOf[shapeOf[item]!]!] === 1)) return o;
    }
    return offer;
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

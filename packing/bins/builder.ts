import type { CompiledProblem } from './compile.js';
import { Filler, type BinAdmission } from './filler.js';
import { free, type Market } from './market.js';
import type { Stack } from './plan.js';
import type { Seed } from './stock.js';
import { Shortlist } from './shortlist.js';
import { Stock } from './stock.js';

/** How many offers are filled to find the next bin. */
const candidatesPerBin = 4;
/** How many offers a random rebuild chooses among. */
const candidatesAtRandom = 16;

/** How much bins may come to. */
export interface BinBudget {
  readonly price: number;
  /** By shape, what a pod costs at least in any packing: no offer holds more of it than its price. */
  readonly worth: Float64Array;
}

interface Construction {
  readonly rest?: number;
  readonly budget?: BinBudget | undefined;
}

/** Builds bins one pattern at a time; holds the scratch space that constructions share. */
export class Builder {
  readonly filler: Filler;
  readonly compiled: CompiledProblem;
  private fills = 0;
  /** Other than 0 while rebuilding: varies the choices. */
  private bits = 0;
  private readonly stock: Stock;
  private readonly shortlist: Shortlist;
  private readonly bestItems: Int32Array;
  private readonly bestPods: Int32Array;
  private bestSize = 0;
  private readonly content: Float64Array;
  private readonly target: Float64Array;
  private readonly importance: Float64Array;
  private readonly phase: Uint8Array;
  private readonly admit: BinAdmission;

  constructor(
    readonly market: Market,
    /** Whether bins are made as large as their price for what they hold allows: fewer are rounded up then. */
    private readonly large = false,
  ) {
    const { compiled } = market;
    this.compiled = compiled;
    this.filler = new Filler(compiled);
    this.stock = new Stock(compiled, market);
    this.bestItems = new Int32Array(compiled.items);
    this.bestPods = new Int32Array(compiled.items);
    this.shortlist = new Shortlist(market, this.stock, candidatesAtRandom);
    this.content = new Float64Array(compiled.dims);
    this.target = new Float64Array(compiled.dims);
    this.importance = new Float64Array(compiled.dims);
    this.phase = new Uint8Array(compiled.sets);
    this.admit = { left: this.stock.left, sets: this.phase, rank: 0, items: undefined };
  }

  /** Work done so far, in units of `Effort`. */
  get work(): number {
    return this.fills + this.market.work;
  }

  /**
   * Packs what `left` counts of `items` into new bins, appended to `out`, until less than `rest` in worth is left; what finds
   * no bin stays in `left`. Ends early, with false, once the bins must come to more than the budget.
   */
  construct(items: Int32Array, left: Int32Array, out: Stack[], { rest = 0, budget }: Construction = {}): boolean {
    const { stock } = this;
    const aside: [number, number][] = [];
    this.shortlist.ceiling = Infinity;
    stock.open(items, left);
    let least = budget === undefined ? 0 : this.leastOf(items, (k) => left[items[k]!]!, budget);
    while (stock.count() && stock.worth >= rest) {
      const seed = stock.seed();
      const stack = this.next(seed);
      if (stack !== undefined) {
        this.put(stack, left, out);
        if (budget === undefined) continue;
        least +=
          stack.times * (this.compiled.price[stack.offer]! - this.leastOf(stack.items, (k) => stack.pods[k]!, budget));
        if (least > budget.price) return false;
        continue;
      }
      // No offer that limits leave can hold it.
      aside.push([seed.item, left[seed.item]!]);
      left[seed.item] = 0;
    }
    for (const [item, pods] of aside) left[item] = pods;
    return true;
  }

  /** What so many pods of the items cost at least; `podsOf(k)` are of `items[k]`. */
  private leastOf(items: Int32Array, podsOf: (k: number) => number, { worth }: BinBudget): number {
    const { shapeOf } = this.compiled;
    let least = 0;
    for (let k = 0; k < items.length; k++) least += podsOf(k) * worth[shapeOf[items[k]!]!]!;
    return least;
  }

  /**
   * The same for pods that bins of `price` held, with `bits` that vary the choices: gives up, with Infinity, as soon as it
   * cannot cost less. The price of what it made otherwise.
   */
  rebuild(items: Int32Array, left: Int32Array, out: Stack[], price: number, bits: number): number {
    const { stock } = this;
    let spent = 0;
    stock.open(items, left);
    this.bits = bits;
    while (spent < Infinity && stock.count()) {
      this.shortlist.ceiling = price - spent + 1e-12;
      const seed = stock.seed();
      const stack = spent + stock.worth > price + 1e-9 ? undefined : this.next(seed);
      if (stack === undefined) {
        spent = Infinity;
        break;
      }
      this.put(stack, left, out);
      spent += stack.times * this.compiled.price[stack.offer]!;
    }
    this.bits = 0;
    return spent;
  }

  private put(stack: Stack, left: Int32Array, out: Stack[]): void {
    for (let k = 0; k < stack.items.length; k++) {
      left[stack.items[k]!] = left[stack.items[k]!]! - stack.times * stack.pods[k]!;
    }
    this.market.ledger.use(stack.offer, stack.times);
    out.push(stack);
  }

  /**
   * A bin around `seed`: where caps force it, the one that wastes least, at most about twice its share in worth; otherwise
   * the one with most worth for its price.
   */
  private next(seed: Seed): Stack | undefined {
    const { shortlist } = this;
    const forced = seed.forced && (this.bits & 7) !== 7;
    shortlist.wanted = (this.bits & 8) !== 0 ? candidatesAtRandom : this.large && !forced ? 1 : candidatesPerBin;
    const found = forced ? shortlist.ofForced(seed) : this.large ? shortlist.ofLarge(seed) : shortlist.ofFree(seed);
    // Every other rebuild starts from an offer at random rather than from the best.
    const only = found > 1 && (this.bits & 8) !== 0 ? (this.bits >> 8) % found : -1;
    this.bits &= ~8;
    const { choice } = shortlist;
    let best = -1;
    let highest = -Infinity;
    for (let k = 0; k < found; k++) {
      if (only >= 0 && k !== only) continue;
      const worth = this.fill(choice[k]!, seed);
      const offer = this.downsize(choice[k]!, seed);
      const price = this.compiled.price[offer]!;
      const score = forced ? worth - price : (worth + free) / (price + free);
      if (score <= highest + 1e-12) continue;
      highest = score;
      best = offer;
      this.remember();
    }
    return best < 0 ? undefined : this.stackOf(best);
  }

  /**
   * Fills one bin of `offer` around `seed`; the worth of what came. Items about as dear as the seed come first: cheaper ones
   * only use what these leave.
   */
  private fill(offer: number, seed: Seed): number {
    const { compiled, filler, stock, market, phase, admit } = this;
    filler.begin(compiled.capacity, offer * compiled.dims);
    this.aim(offer, seed.set);
    filler.add(seed.item, 1);
    // A rebuild may let cheaper items compete from the start.
    const hasFiller = stock.phases(offer, seed, phase, (this.bits & 16) !== 0);
    admit.left = stock.left;
    admit.rank = 1;
    this.fills += filler.grow(stock.kinds, stock.live, admit);
    if (hasFiller) {
      admit.rank = 2;
      this.fills += filler.grow(stock.kinds, stock.live, admit);
    }
    let worth = 0;
    const { items, size, count } = filler;
    const { shapeOf } = compiled;
    for (let k = 0; k < size; k++) worth += count[items[k]!]! * market.worth[shapeOf[items[k]!]!]!;
    return worth;
  }

  /** Aims at a full bin in the resources that are worth something, and at the mix of what is left in the others. */
  private aim(offer: number, set: number): void {
    const { compiled, target, importance, stock, filler } = this;
    const { prices } = this.market;
    const { dims, capacity } = compiled;
    const at = compiled.supply.of[offer]! * dims;
    let worth = 0;
    for (let d = 0; d < dims; d++) worth += prices[set * dims + d]! * capacity[offer * dims + d]!;
    let scale = Infinity;
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      if (prices[set * dims + d]! * amount > 0.05 * worth && stock.own[at + d]! > 0) {
        scale = Math.min(scale, amount / stock.own[at + d]!);
      }
    }
    for (let d = 0; d < dims; d++) {
      const amount = capacity[offer * dims + d]!;
      const share = worth > 0 ? (prices[set * dims + d]! * amount) / worth : 0;
      target[d] = share > 0.05 || scale === Infinity ? amount : Math.min(amount, stock.own[at + d]! * scale);
      importance[d] = amount > 0 ? Math.max(share, 0.5 * (target[d]! / amount)) : 0;
      if (this.bits !== 0) importance[d] = importance[d]! * (1 + ((this.bits >> (3 * (d % 8) + 4)) & 7) / 2);
    }
    filler.aim(target, importance);
  }

  /** The cheapest offer that holds what the filler holds, given that `offer` does. */
  private downsize(offer: number, seed: Seed): number {
    const { compiled, filler, content } = this;
    const { dims, capacity } = compiled;
    for (let d = 0; d < dims; d++) content[d] = capacity[offer * dims + d]! - filler.residual[d]!;
    return this.market.cheapest(content, filler, seed.set, offer);
  }

  /** Keeps what the filler holds. */
  private remember(): void {
    const { items, size, count } = this.filler;
    const { bestItems, bestPods } = this;
    this.bestSize = size;
    for (let k = 0; k < size; k++) {
      bestItems[k] = items[k]!;
      bestPods[k] = count[items[k]!]!;
    }
  }

  /** What was kept, as often as there are pods and limits for it. */
  private stackOf(offer: number): Stack {
    const { bestItems, bestPods, bestSize } = this;
    const { left } = this.stock;
    let times = this.market.ledger.most(offer);
    for (let k = 0; k < bestSize; k++) times = Math.min(times, Math.floor(left[bestItems[k]!]! / bestPods[k]!));
    return { offer, items: bestItems.slice(0, bestSize), pods: bestPods.slice(0, bestSize), times };
  }
}

import type { CompiledProblem } from './compile.js';
import type { LimitLedger } from './limits.js';
import { binsIn, priceOf, type Stack } from './plan.js';

/** Prices that differ by no more than this share count as equal: sums of prices differ in their last digits. */
const alike = 1 + 1e-9;
/** With more stacks pairs of different ones are not tried. */
const mostStacks = 60;

/**
 * Puts bins together in larger ones that cost no more, in place, as far as sizes, caps, conflicts and limits let it: equal
 * prices prefer fewer nodes.
 */
export function joinBins(compiled: CompiledProblem, stacks: Stack[], ledger: LimitLedger): void {
  new Joiner(compiled, stacks, ledger).run();
}

/** Puts bins together in larger ones, what becomes least dearer first, for no more than `spare` in all, dollars per hour. */
export function joinWithin(compiled: CompiledProblem, stacks: Stack[], ledger: LimitLedger, spare: number): void {
  new Joiner(compiled, stacks, ledger).runWithin(spare);
}

/** Of more stacks those of the cheapest bins are paired. */
const mostPaired = 120;

/** What joining may cost for each bin less, as a share of what a bin costs on average: no margin of 1% goes far at more. */
const mostExtra = 1;

/** What joining may cost more, dollars per hour: for each bin less, and in all. */
interface Spare {
  readonly each: number;
  readonly all: number;
}

/** A larger bin for some of the smaller ones. */
interface Joint {
  readonly offer: number;
  readonly items: Int32Array;
  readonly pods: Int32Array;
}

/** So many bins of a stack. */
interface Copies {
  readonly stack: Stack;
  readonly copies: number;
}

/** Bins that can be joined in one, and what that costs more for each bin that there is less then. */
interface Option {
  readonly offer: number;
  readonly from: readonly Copies[];
  readonly extra: number;
  readonly fewer: number;
}

const byRate = (a: Option, b: Option): number => a.extra / a.fewer - b.extra / b.fewer;
const isThere = ({ from }: Option): boolean => from.every(({ stack, copies }) => stack.times >= copies);

/** Both lists, which are in order, as one. */
function merged(a: readonly Option[], b: readonly Option[]): Option[] {
  const all: Option[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (j >= b.length || (i < a.length && byRate(a[i]!, b[j]!) <= 0)) all.push(a[i++]!);
    else all.push(b[j++]!);
  }
  return all;
}

/** How many equal bins are tried in one. */
const alikeTogether = [2, 3, 4, 6, 8];

const oneOfEach = (...stacks: readonly Stack[]): Copies[] => stacks.map((stack) => ({ stack, copies: 1 }));

class Joiner {
  private readonly content: Float64Array;
  private readonly capUse: Int32Array;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly stacks: Stack[],
    private readonly ledger: LimitLedger,
  ) {
    this.content = new Float64Array(compiled.dims);
    this.capUse = new Int32Array(compiled.capMax.length);
  }

  run(): void {
    const { stacks } = this;
    for (let before = Infinity, bins = binsIn(stacks); bins < before;) {
      for (let k = stacks.length - 1; k >= 0; k--) this.joinEqual(stacks[k]!);
      if (stacks.length <= mostStacks) this.joinPairs();
      this.sweep();
      before = bins;
      bins = binsIn(stacks);
    }
  }

  /** Joins what becomes least dearer, as often as it is there, and goes on until that would cost more than is to spare. */
  runWithin(spare: number): void {
    const { stacks } = this;
    const open = this.cheapestStacks();
    let rest = spare;
    const mostEach = (priceOf(this.compiled, stacks) / binsIn(stacks)) * mostExtra;
    const optionsOf = (a: Stack, b: Stack): Option[] => this.optionsOf(a, b, { each: mostEach, all: rest });
    let options = open.flatMap((a, i) => open.slice(i).flatMap((b) => optionsOf(a, b)));
    options.sort(byRate);
    while (options.length > 0) {
      const best = options.shift()!;
      const times = this.joinedTimes(best, rest);
      if (times === 0) continue;
      rest -= best.extra * times;
      for (const { stack, copies } of best.from) stack.times -= copies * times;
      const made: Stack = { offer: best.offer, ...together(best.from), times };
      stacks.push(made);
      open.push(made);
      const more = open.flatMap((other) => optionsOf(made, other));
      options = merged(options.filter(isThere), more.sort(byRate));
    }
    this.sweep();
  }

  /** Counts against limits how often the option can be taken, for no more than is to spare, and says so. */
  private joinedTimes({ offer, from, extra }: Option, spare: number): number {
    const there = Math.min(...from.map(({ stack, copies }) => Math.floor(stack.times / copies)));
    let times = 0;
    while (times < there && extra * (times + 1) <= spare && this.isAllowed(offer, from)) {
      this.use(from, -1);
      this.ledger.use(offer, 1);
      times++;
    }
    return times;
  }

  /** Stacks of small bins, which larger ones can take the place of, as many as pairs are tried of. */
  private cheapestStacks(): Stack[] {
    const { price } = this.compiled;
    return [...this.stacks].sort((a, b) => price[a.offer]! - price[b.offer]!).slice(0, mostPaired);
  }

  private optionsOf(a: Stack, b: Stack, spare: Spare): Option[] {
    if (a !== b) return this.optionOf(oneOfEach(a, b), spare);
    return alikeTogether.flatMap((copies) => this.optionOf([{ stack: a, copies }], spare));
  }

  private optionOf(from: readonly Copies[], { each, all }: Spare): Option[] {
    if (from.some(({ stack, copies }) => stack.times < copies)) return [];
    const fewer = from.reduce((sum, { copies }) => sum + copies, -1);
    const offer = this.offerFor(from, Math.min(each * fewer, all));
    if (offer === undefined) return [];
    return [{ offer, from, extra: this.compiled.price[offer]! - this.priceOf(from), fewer }];
  }

  private priceOf(from: readonly Copies[]): number {
    return from.reduce((sum, { stack, copies }) => sum + copies * this.compiled.price[stack.offer]!, 0);
  }

  /** As many bins of one stack in one as will go. */
  private joinEqual(stack: Stack): void {
    if (stack.times < 2) return;
    const { price, offers } = this.compiled;
    const own = price[stack.offer]!;
    this.weigh([{ stack, copies: 1 }]);
    const limit = this.copiesByCaps(stack.times);
    if (limit < 2) return;
    const ceiling = limit * own * alike;
    let most = 1;
    let best = -1;
    for (let offer = offers - 1; offer >= 0 && price[offer]! > own; offer--) {
      if (price[offer]! > ceiling) continue;
      const copies = this.copiesIn(offer, limit);
      if (copies < 2 || copies < most || price[offer]! > copies * own * alike) continue;
      if (copies === most && price[offer]! >= price[best]!) continue;
      if (!this.admits(offer, stack.items) || !this.isAllowed(offer, [{ stack, copies }])) continue;
      most = copies;
      best = offer;
    }
    if (best < 0) return;
    const pods = stack.pods.map((count) => count * most);
    this.swap([{ stack, copies: most }], { offer: best, items: stack.items, pods });
  }

  /** How many bins with what was weighed fit into one of `offer`, at most `times`. */
  private copiesIn(offer: number, times: number): number {
    const { compiled, content } = this;
    const { dims, capacity } = compiled;
    let most = times;
    for (let d = 0; d < dims; d++) {
      const room = capacity[offer * dims + d]!;
      if (content[d]! * most > room) most = Math.floor(room / content[d]!);
    }
    return most;
  }

  /** How many of them caps let into one bin, at most `times`. */
  private copiesByCaps(times: number): number {
    const { capUse } = this;
    const { capMax } = this.compiled;
    let most = times;
    for (let cap = 0; cap < capUse.length; cap++) {
      if (capUse[cap]! * most > capMax[cap]!) most = Math.floor(capMax[cap]! / capUse[cap]!);
    }
    return most;
  }

  private joinPairs(): void {
    const { stacks } = this;
    const count = stacks.length;
    for (let a = 0; a < count; a++) {
      for (let b = a + 1; b < count && stacks[a]!.times > 0; b++) {
        if (stacks[b]!.times > 0) this.joinPair(stacks[a]!, stacks[b]!);
      }
    }
  }

  private joinPair(a: Stack, b: Stack): void {
    const from = oneOfEach(a, b);
    const offer = this.offerFor(from);
    if (offer !== undefined) this.swap(from, { offer, ...together(from) });
  }

  /** The cheapest offer that holds them all, where it costs no more than they and what is to spare. */
  private offerFor(from: readonly Copies[], spare = 0): number | undefined {
    const { compiled, content, capUse } = this;
    const { price, capMax, dims, capacity, conflictsOf, setOf, shapeOf } = compiled;
    const ceiling = this.priceOf(from) * alike + spare;
    this.weigh(from);
    for (let cap = 0; cap < capUse.length; cap++) if (capUse[cap]! > capMax[cap]!) return undefined;
    const [a, b] = from.map(({ stack }) => stack);
    const parts = (item: number): boolean => conflictsOf[item]!.some((other) => b!.items.includes(other));
    if (b !== undefined && a!.items.some(parts)) return undefined;
    let sets: readonly number[] | undefined;
    const first = Math.max(...from.map(({ stack }) => stack.offer));
    for (let offer = first; offer < compiled.offers && price[offer]! <= ceiling; offer++) {
      let fits = true;
      for (let d = 0; fits && d < dims; d++) fits = content[d]! <= capacity[offer * dims + d]!;
      if (!fits) continue;
      sets ??= [...new Set(from.flatMap(({ stack }) => [...stack.items].map((item) => setOf[shapeOf[item]!]!)))];
      if (sets.every((set) => compiled.inSet[offer * compiled.sets + set] === 1) && this.isAllowed(offer, from))
        return offer;
    }
    return undefined;
  }

  private admits(offer: number, items: Int32Array): boolean {
    const { inSet, sets, setOf, shapeOf } = this.compiled;
    return items.every((item) => inSet[offer * sets + setOf[shapeOf[item]!]!] === 1);
  }

  /** Sums what these bins hold into `content` and `capUse`. */
  private weigh(bins: readonly Copies[]): void {
    const { content, capUse, compiled } = this;
    const { dims, demand, shapeOf, capsOf } = compiled;
    content.fill(0);
    capUse.fill(0);
    for (const { stack, copies } of bins) {
      const { items, pods } = stack;
      for (let k = 0; k < items.length; k++) {
        const item = items[k]!;
        const count = copies * pods[k]!;
        const at = shapeOf[item]! * dims;
        for (let d = 0; d < dims; d++) content[d] = content[d]! + count * demand[at + d]!;
        for (const cap of capsOf[item]!) capUse[cap] = capUse[cap]! + count;
      }
    }
  }

  /** Whether limits let one bin of `offer` come in place of the copies. */
  private isAllowed(offer: number, from: readonly Copies[]): boolean {
    this.use(from, -1);
    const allowed = this.ledger.allows(offer);
    this.use(from, 1);
    return allowed;
  }

  private use(from: readonly Copies[], times: number): void {
    for (const { stack, copies } of from) this.ledger.use(stack.offer, times * copies);
  }

  /** Puts the copies together in one bin, as often as there are bins and limits let it. */
  private swap(from: readonly Copies[], joint: Joint): void {
    const there = Math.min(...from.map(({ stack, copies }) => Math.floor(stack.times / copies)));
    let times = 0;
    while (times < there && this.isAllowed(joint.offer, from)) {
      this.use(from, -1);
      this.ledger.use(joint.offer, 1);
      times++;
    }
    if (times === 0) return;
    for (const { stack, copies } of from) stack.times -= copies * times;
    this.stacks.push({ ...joint, times });
  }

  private sweep(): void {
    const { stacks } = this;
    let kept = 0;
    for (const stack of stacks) if (stack.times > 0) stacks[kept++] = stack;
    stacks.length = kept;
  }
}

/** The pods of all of them, items ascending. */
function together(from: readonly Copies[]): Pick<Stack, 'items' | 'pods'> {
  const sum = new Map<number, number>();
  for (const { stack, copies } of from) {
    stack.items.forEach((item, k) => sum.set(item, (sum.get(item) ?? 0) + copies * stack.pods[k]!));
  }
  const items = Int32Array.from(sum.keys()).sort();
  return { items, pods: items.map((item) => sum.get(item)!) };
}

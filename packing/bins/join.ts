import type { Compiled } from './compile.js';
import type { LimitLedger } from './limits.js';
import { binsIn, type Stack } from './plan.js';

/** Prices that differ by no more than this share count as equal: sums of prices differ in their last digits. */
const alike = 1 + 1e-9;
/** With more stacks pairs of different ones are not tried. */
const mostStacks = 60;

/**
 * Puts bins together in larger ones that cost no more, in place, as far as sizes, caps, conflicts and limits let it: equal
 * prices prefer fewer nodes.
 */
export function joinBins(compiled: Compiled, stacks: Stack[], ledger: LimitLedger): void {
  new Joiner(compiled, stacks, ledger).run();
}

/** What joining may cost. */
interface Margin {
  /** Dollars per hour, in all. */
  readonly spare: number;
  /** What prices of offers hold that a bin does not really cost, dollars per hour. */
  readonly binCost: number;
}

/** Puts pairs of bins together in larger ones, those first that become least dearer, for no more than is to spare. */
export function joinWithin(compiled: Compiled, stacks: Stack[], ledger: LimitLedger, margin: Margin): void {
  new Joiner(compiled, stacks, ledger).runWithin(margin);
}

/** Of more stacks those of the cheapest bins are paired. */
const mostPaired = 120;

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

/** A pair that can be joined, and what that costs more. */
interface Option {
  readonly joint: Joint;
  readonly from: readonly Copies[];
  readonly extra: number;
}

const byExtra = (a: Option, b: Option): number => a.extra - b.extra;
const isThere = ({ from }: Option): boolean => from.every(({ stack, copies }) => stack.times >= copies);

/** Both lists, which are in order, as one. */
function merged(a: readonly Option[], b: readonly Option[]): Option[] {
  const all: Option[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (j >= b.length || (i < a.length && byExtra(a[i]!, b[j]!) <= 0)) all.push(a[i++]!);
    else all.push(b[j++]!);
  }
  return all;
}

const oneOfEach = (...stacks: readonly Stack[]): Copies[] => stacks.map((stack) => ({ stack, copies: 1 }));

class Joiner {
  private readonly content: Float64Array;
  private readonly capUse: Int32Array;

  constructor(
    private readonly compiled: Compiled,
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

  /** Joins the pair that becomes least dearer, again and again, until that would cost more than is to spare. */
  runWithin({ spare, binCost }: Margin): void {
    const { stacks } = this;
    const open = this.cheapestStacks();
    let rest = spare;
    let options = open.flatMap((a, i) => open.slice(i).flatMap((b) => this.optionsOf(a, b, { spare: rest, binCost })));
    options.sort(byExtra);
    while (options.length > 0) {
      const best = options.shift()!;
      if (best.extra > rest) break;
      if (!isThere(best) || !this.isAllowed(best.joint.offer, best.from)) continue;
      rest -= best.extra;
      this.use(best.from, -1);
      this.ledger.use(best.joint.offer, 1);
      for (const { stack, copies } of best.from) stack.times -= copies;
      const made: Stack = { ...best.joint, times: 1 };
      stacks.push(made);
      open.push(made);
      const more = open.flatMap((other) => this.optionsOf(made, other, { spare: rest, binCost }));
      options = merged(options.filter(isThere), more.sort(byExtra));
    }
    this.sweep();
  }

  /** Stacks of small bins, which larger ones can take the place of, as many as pairs are tried of. */
  private cheapestStacks(): Stack[] {
    const { price } = this.compiled;
    return [...this.stacks].sort((a, b) => price[a.offer]! - price[b.offer]!).slice(0, mostPaired);
  }

  private optionsOf(a: Stack, b: Stack, { spare, binCost }: Margin): Option[] {
    if (a.times < 1 || b.times < 1 || (a === b && a.times < 2)) return [];
    const { price } = this.compiled;
    const joint = this.jointOf(a, b, spare - binCost);
    if (joint === undefined) return [];
    const from = a === b ? [{ stack: a, copies: 2 }] : oneOfEach(a, b);
    return [{ joint, from, extra: price[joint.offer]! - price[a.offer]! - price[b.offer]! + binCost }];
  }

  /** As many bins of one stack in one as will go. */
  private joinEqual(stack: Stack): void {
    if (stack.times < 2) return;
    const { price, offers } = this.compiled;
    const own = price[stack.offer]!;
    this.weigh([stack]);
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
    const joint = this.jointOf(a, b);
    if (joint !== undefined)
      this.swap(
        [a, b].map((stack) => ({ stack, copies: 1 })),
        joint,
      );
  }

  /** The cheapest offer that holds both, where it costs no more than they. */
  private jointOf(a: Stack, b: Stack, spare = 0): Joint | undefined {
    const { compiled, content, capUse } = this;
    const { price, capMax, dims, capacity, conflictsOf } = compiled;
    const ceiling = (price[a.offer]! + price[b.offer]!) * alike + spare;
    this.weigh([a, b]);
    if (capUse.some((used, cap) => used > capMax[cap]!)) return undefined;
    if (a.items.some((item) => conflictsOf[item]!.some((other) => b.items.includes(other)))) return undefined;
    for (let offer = Math.max(a.offer, b.offer); offer < compiled.offers && price[offer]! <= ceiling; offer++) {
      let fits = this.admits(offer, a.items) && this.admits(offer, b.items);
      for (let d = 0; fits && d < dims; d++) fits = content[d]! <= capacity[offer * dims + d]!;
      if (fits && this.isAllowed(offer, oneOfEach(a, b))) return { offer, ...together(a, b) };
    }
    return undefined;
  }

  private admits(offer: number, items: Int32Array): boolean {
    const { inSet, sets, setOf, shapeOf } = this.compiled;
    return items.every((item) => inSet[offer * sets + setOf[shapeOf[item]!]!] === 1);
  }

  /** Sums what these bins hold into `content` and `capUse`. */
  private weigh(bins: readonly Pick<Stack, 'items' | 'pods'>[]): void {
    const { content, capUse, compiled } = this;
    const { dims, demand, shapeOf, capsOf } = compiled;
    content.fill(0);
    capUse.fill(0);
    for (const { items, pods } of bins) {
      items.forEach((item, k) => {
        const at = shapeOf[item]! * dims;
        for (let d = 0; d < dims; d++) content[d] = content[d]! + pods[k]! * demand[at + d]!;
        for (const cap of capsOf[item]!) capUse[cap] = capUse[cap]! + pods[k]!;
      });
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

/** The pods of both, items ascending. */
function together(a: Stack, b: Stack): Pick<Stack, 'items' | 'pods'> {
  const sum = new Map<number, number>();
  for (const { items, pods } of [a, b]) items.forEach((item, k) => sum.set(item, (sum.get(item) ?? 0) + pods[k]!));
  const items = Int32Array.from(sum.keys()).sort();
  return { items, pods: items.map((item) => sum.get(item)!) };
}

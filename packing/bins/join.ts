import type { CompiledProblem } from './compile.js';
import { isOpened } from './openers.js';
import type { LimitUsage } from './limits.js';
import { binsIn, type BinGroup } from './plan.js';

/** Prices within this ratio count as equal: sums of prices differ in their last digits. */
const alike = 1 + 1e-9;
/** With more groups, pairs of different groups are not tried. */
const mostGroups = 60;

/**
 * Merges bins into larger ones that cost no more, in place, as far as capacities, caps, conflicts and limits allow: at
 * equal price fewer nodes are better.
 */
export function joinBins(compiled: CompiledProblem, groups: BinGroup[], limitUsage: LimitUsage): void {
  new Joiner(compiled, groups, limitUsage).run();
}

/** A number of bins of a group. */
interface BinCopies {
  readonly group: BinGroup;
  readonly copies: number;
}

/** A larger bin in place of smaller ones. */
interface JoinedBin {
  readonly offer: number;
  readonly items: Int32Array;
  readonly pods: Int32Array;
}

const oneOfEach = (...groups: readonly BinGroup[]): BinCopies[] => groups.map((group) => ({ group, copies: 1 }));

class Joiner {
  private readonly content: Float64Array;
  private readonly capUse: Int32Array;

  constructor(
    private readonly compiled: CompiledProblem,
    private readonly groups: BinGroup[],
    private readonly limitUsage: LimitUsage,
  ) {
    this.content = new Float64Array(compiled.dims);
    this.capUse = new Int32Array(compiled.capMax.length);
  }

  run(): void {
    const { groups } = this;
    for (let before = Infinity, bins = binsIn(groups); bins < before;) {
      for (let k = groups.length - 1; k >= 0; k--) this.joinEqual(groups[k]!);
      if (groups.length <= mostGroups) this.joinPairs();
      this.dropEmpty();
      before = bins;
      bins = binsIn(groups);
    }
  }

  /** Merges as many equal bins of one group into one bin as possible. */
  private joinEqual(group: BinGroup): void {
    if (group.times < 2) return;
    const { price, offers } = this.compiled;
    const own = price[group.offer]!;
    this.weigh([{ group, copies: 1 }]);
    const limit = this.copiesByCaps(group.times);
    if (limit < 2) return;
    const ceiling = limit * own * alike;
    let most = 1;
    let best = -1;
    for (let offer = offers - 1; offer >= 0 && price[offer]! > own; offer--) {
      if (price[offer]! > ceiling) continue;
      const copies = this.copiesIn(offer, limit);
      if (copies < 2 || copies < most || price[offer]! > copies * own * alike) continue;
      if (copies === most && price[offer]! >= price[best]!) continue;
      if (!this.admits(offer, group.items) || !this.isAllowed(offer, [{ group, copies }])) continue;
      most = copies;
      best = offer;
    }
    if (best < 0) return;
    const pods = group.pods.map((count) => count * most);
    this.swap([{ group, copies: most }], { offer: best, items: group.items, pods });
  }

  /** How many bins with the weighed content fit into one bin of `offer`, at most `times`. */
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

  /** How many of these bins caps admit in one bin, at most `times`. */
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
    const { groups } = this;
    const count = groups.length;
    for (let a = 0; a < count; a++) {
      for (let b = a + 1; b < count && groups[a]!.times > 0; b++) {
        if (groups[b]!.times > 0) this.joinPair(groups[a]!, groups[b]!);
      }
    }
  }

  private joinPair(a: BinGroup, b: BinGroup): void {
    const from = oneOfEach(a, b);
    const offer = this.offerFor(from);
    if (offer !== undefined) this.swap(from, { offer, ...contentOf(from) });
  }

  /** The cheapest offer that holds the content of all these bins and costs no more than they do together. */
  private offerFor(from: readonly BinCopies[]): number | undefined {
    const { compiled, content, capUse } = this;
    const { price, capMax, dims, capacity, conflictsOf, setOf, shapeOf } = compiled;
    const ceiling = from.reduce((sum, { group, copies }) => sum + copies * price[group.offer]!, 0) * alike;
    this.weigh(from);
    for (let cap = 0; cap < capUse.length; cap++) if (capUse[cap]! > capMax[cap]!) return undefined;
    const [a, b] = from.map(({ group }) => group);
    const parts = (item: number): boolean => conflictsOf[item]!.some((other) => b!.items.includes(other));
    if (b !== undefined && a!.items.some(parts)) return undefined;
    let sets: readonly number[] | undefined;
    const first = Math.max(...from.map(({ group }) => group.offer));
    for (let offer = first; offer < compiled.offers && price[offer]! <= ceiling; offer++) {
      let fits = true;
      for (let d = 0; fits && d < dims; d++) fits = content[d]! <= capacity[offer * dims + d]!;
      if (!fits) continue;
      sets ??= [...new Set(from.flatMap(({ group }) => [...group.items].map((item) => setOf[shapeOf[item]!]!)))];
      const isIn = sets.every((set) => compiled.inSet[offer * compiled.sets + set] === 1);
      if (isIn && from.some(({ group }) => isOpened(compiled, offer, group.items)) && this.isAllowed(offer, from))
        return offer;
    }
    return undefined;
  }

  private admits(offer: number, items: Int32Array): boolean {
    const { inSet, sets, setOf, shapeOf } = this.compiled;
    return (
      items.every((item) => inSet[offer * sets + setOf[shapeOf[item]!]!] === 1) && isOpened(this.compiled, offer, items)
    );
  }

  /** Sums the content of these bins into `content` and `capUse`. */
  private weigh(bins: readonly BinCopies[]): void {
    const { content, capUse, compiled } = this;
    const { dims, demand, shapeOf, capsOf } = compiled;
    content.fill(0);
    capUse.fill(0);
    for (const { group, copies } of bins) {
      const { items, pods } = group;
      for (let k = 0; k < items.length; k++) {
        const item = items[k]!;
        const count = copies * pods[k]!;
        const at = shapeOf[item]! * dims;
        for (let d = 0; d < dims; d++) content[d] = content[d]! + count * demand[at + d]!;
        for (const cap of capsOf[item]!) capUse[cap] = capUse[cap]! + count;
      }
    }
  }

  /** Whether limits allow one bin of `offer` in place of the copies. */
  private isAllowed(offer: number, from: readonly BinCopies[]): boolean {
    this.use(from, -1);
    const allowed = this.limitUsage.allows(offer);
    this.use(from, 1);
    return allowed;
  }

  private use(from: readonly BinCopies[], times: number): void {
    for (const { group, copies } of from) this.limitUsage.use(group.offer, times * copies);
  }

  /** Replaces the copies by one bin, as often as bins and limits allow. */
  private swap(from: readonly BinCopies[], joint: JoinedBin): void {
    const there = Math.min(...from.map(({ group, copies }) => Math.floor(group.times / copies)));
    let times = 0;
    while (times < there && this.isAllowed(joint.offer, from)) {
      this.use(from, -1);
      this.limitUsage.use(joint.offer, 1);
      times++;
    }
    if (times === 0) return;
    for (const { group, copies } of from) group.times -= copies * times;
    this.groups.push({ ...joint, times });
  }

  private dropEmpty(): void {
    const { groups } = this;
    let kept = 0;
    for (const group of groups) if (group.times > 0) groups[kept++] = group;
    groups.length = kept;
  }
}

/** The pods of all copies, items ascending. */
function contentOf(from: readonly BinCopies[]): Pick<BinGroup, 'items' | 'pods'> {
  const sum = new Map<number, number>();
  for (const { group, copies } of from) {
    group.items.forEach((item, k) => sum.set(item, (sum.get(item) ?? 0) + copies * group.pods[k]!));
  }
  const items = Int32Array.from(sum.keys()).sort();
  return { items, pods: items.map((item) => sum.get(item)!) };
}

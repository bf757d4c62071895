import type { Effort } from '../bins/problem.js';
import { solveWithBound } from '../bins/solve.js';
import { withSurcharge } from '../bins/surcharge.js';
import type { Compiled } from '../compile/compiled.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Profile } from '../compile/universe.js';
import { openClaimsOf, type BoughtBin, type OpenClaim } from '../place/open-claim.js';
import { numberProblem } from '../place/bin-problem.js';
import { type PoolLimit } from '../compile/pool-limits.js';
import { exclusionsOf } from '../place/exclusions.js';
import type { Part } from '../place/part.js';
import type { RuleBook } from '../topology/rules.js';

/** Maximum number of cached results. */
const mostKnown = 2000;

/** How much effort to spend on the cheapest nodes, with `surcharge` dollars per hour added to each. */
export type PurchaseSearch = Effort & { readonly surcharge?: number };

/** Buys nodes for parts; caches results. */
export class Purchases {
  private readonly known = new Map<string, readonly BoughtBin[]>();
  private readonly numbers = new Map<readonly Profile[] | Level, number>();

  constructor(
    private readonly compiled: Compiled,
    private readonly book: RuleBook,
  ) {}

  /** The claims for these parts, each for at most `dearest` dollars per hour. `isShort`: some parts find no node. */
  buy(
    parts: readonly Part[],
    limits: readonly PoolLimit[],
    search: PurchaseSearch,
    dearest = Infinity,
  ): { readonly claims: OpenClaim[]; readonly isShort: boolean } {
    const bought = this.answer(parts, limits, search, dearest);
    const { claims, given } = openClaimsOf(parts, bought);
    return { claims, isShort: parts.some(({ count }, item) => given[item]! < count) };
  }

  private answer(
    parts: readonly Part[],
    limits: readonly PoolLimit[],
    search: PurchaseSearch,
    dearest: number,
  ): readonly BoughtBin[] {
    const question = `${JSON.stringify(search)} ${dearest} ${this.textOf(parts, limits)}`;
    let bought = this.known.get(question);
    if (bought === undefined) {
      const { problem, rowOfOffer } = numberProblem(this.compiled, parts, exclusionsOf(parts, this.book), limits, {
        dearest,
      });
      const { bins } = solveWithBound(withSurcharge(problem, search.surcharge ?? 0), search).solution;
      bought = bins.map(({ offer, items, pods }) => ({ row: rowOfOffer[offer]!, items: [...items], units: [...pods] }));
      if (this.known.size >= mostKnown) this.known.clear();
      this.known.set(question, bought);
    }
    return bought;
  }

  private textOf(parts: readonly Part[], limits: readonly PoolLimit[]): string {
    let text = limits.map(({ remaining }) => remaining).join();
    for (const { members, profiles, together, count, pinnedKeys } of parts) {
      const who = members.map(
        ({ podClass, level, pods }) => `${podClass.index}.${this.numberOf(level)}.${pods.length}`,
      );
      text += `;${who.join('+')} ${this.numberOf(profiles)} ${together} ${count} ${pinnedKeys.join()}`;
    }
    return text;
  }

  private numberOf(thing: readonly Profile[] | Level): number {
    let number = this.numbers.get(thing);
    if (number === undefined) this.numbers.set(thing, (number = this.numbers.size));
    return number;
  }
}

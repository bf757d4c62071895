import type { Content } from '../bins/market.js';
import { patternBound } from '../bins/pattern-bound.js';
import type { PodClass } from '../compile/classes.js';
import type { Part } from '../place/part.js';
import type { BoundContext, Placed } from './context.js';
import { forcedByTopology, type ForcedByRules } from './forced.js';
import { marketProblem, type Pinned } from './market-problem.js';
import { partsToBound } from './parts.js';

/** Choices of a domain for pods that must share one are tried while they raise the bound by more than this share. */
const worthwhile = 1e-4;
/** Rules whose choices raised nothing, after which no more are tried. */
const mostUseless = 3;

/** With more offers than any catalogue has in a few NodePools nothing is proven: to read them would take seconds. */
const mostOffers = 20_000;

export interface PriceBound {
  /** No plan that places the pods costs less, dollars per hour. */
  readonly bound: number;
  /** The parts, and what was counted of the rules between them. */
  readonly parts: readonly Part[];
  readonly forced: ForcedByRules;
}

/** A choice of domains, with the least that pods cost under it. */
interface Leaf {
  readonly pinned: Pinned;
  /** How many of the rules in `forced.together` are decided. */
  readonly decided: number;
  readonly bound: number;
}

/**
 * A lower bound for the price of the placed pods by contents of whole nodes, which counts what rules force (bound/README.md). `claims`: the pods by
 * class of each new node of a plan that is known, which costs `price`. The work is bounded by `units`, and given up where it stays below `otherBound`.
 */
export function leastPriceOfPlaced(
  context: BoundContext,
  placed: Placed,
  claims: readonly ReadonlyMap<PodClass, number>[],
  { units, price, otherBound }: { readonly units: number; readonly price: number; readonly otherBound: number },
): PriceBound {
  const parts = partsToBound(context, placed);
  const forced = forcedByTopology(context, parts);
  if (offersOf(context, parts) > mostOffers) return { bound: 0, parts, forced };
  const known = contentsOf(parts, claims);
  let left = units;
  const boundUnder = (pinned: Pinned): number => {
    const { bound, work } = patternBound(marketProblem(context, parts, forced, pinned), left, known, otherBound);
    left -= work;
    return bound;
  };
  const leaves: Leaf[] = [{ pinned: new Map(), decided: 0, bound: boundUnder(new Map()) }];
  const isNear = leaves[0]!.bound >= otherBound;
  for (let useless = 0; isNear && left > 0 && useless < mostUseless;) {
    leaves.sort((a, b) => b.bound - a.bound);
    const lowest = leaves.at(-1)!;
    const rule = forced.together[lowest.decided];
    if (rule === undefined || lowest.bound >= price) break;
    leaves.pop();
    const children = rule.domains.map((domain): Leaf => {
      const pinned = new Map(lowest.pinned);
      for (const part of rule.parts) pinned.set(part, { key: rule.group.key, domain });
      const bound = left > 0 ? boundUnder(pinned) : 0;
      return { pinned, decided: lowest.decided + 1, bound: Math.max(bound, lowest.bound) };
    });
    leaves.push(...children);
    const raised = Math.min(...children.map(({ bound }) => bound)) > lowest.bound * (1 + worthwhile);
    useless = raised ? 0 : useless + 1;
  }
  const decided = Math.min(...leaves.map((leaf) => leaf.decided));
  for (const { group } of forced.together.slice(0, decided)) forced.counted.add(group);
  return { bound: Math.max(0, Math.min(...leaves.map(({ bound }) => bound))), parts, forced };
}

function offersOf({ compiled }: BoundContext, parts: readonly Part[]): number {
  const used = new Set(parts.flatMap(({ profiles }) => profiles));
  return [...used].reduce((sum, profile) => sum + compiled.offers.of(profile).rows.length, 0);
}

/** What the new nodes of the plan hold, in parts. */
function contentsOf(parts: readonly Part[], claims: readonly ReadonlyMap<PodClass, number>[]): Content[] {
  const partOf = new Map<PodClass, number>();
  parts.forEach(({ members }, part) => {
    for (const { podClass } of members) partOf.set(podClass, part);
  });
  return claims.map((claim) => {
    const content = new Map<number, number>();
    for (const [podClass, pods] of claim) {
      const part = partOf.get(podClass)!;
      content.set(part, parts[part]!.together ? 1 : (content.get(part) ?? 0) + pods);
    }
    return content;
  });
}

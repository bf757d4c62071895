import type { Content } from './market.js';
import type { Part } from '../../packing/place/part.js';
import type { PodClass } from '../../packing/compile/classes.js';
import type { Level } from '../../packing/compile/relaxation-levels.js';
import type { BoundContext, Placed } from './context.js';
import { forcedByTopology, type ForcedByRules } from './forced.js';
import { Choices } from './choices.js';
import { marketProblem } from './market-problem.js';
import { partsToBound } from './parts.js';

/**
 * With more offers nothing is proven, since reading them would take seconds. No catalogue has as many in a few
 * NodePools.
 */
const mostOffers = 20_000;

export interface PriceBound {
  /** Lower bound of the price of plans that place the pods, dollars per hour. */
  readonly bound: number;
  /** The parts, and the rules between them that the bound takes into account. */
  readonly parts: readonly Part[];
  readonly forced: ForcedByRules;
}

interface BoundEffort {
  readonly units: number;
  readonly price: number;
  readonly otherBound: number;
  /** Maximum number of nodes of the plans; Infinity: any. */
  readonly mostNodes: number;
}

/**
 * A lower bound for the price of the placed pods, from contents of whole nodes and the constraints that rules force
 * (cli/bound/README.md). `claims`: the pods by class and level of each new node of a known plan, which costs `price`.
 * The work is limited by `units`, and stops early if the bound stays below `otherBound`.
 */
export function leastPriceOfPlaced(
  context: BoundContext,
  placed: Placed,
  claims: readonly Placed[],
  { units, price, otherBound, mostNodes }: BoundEffort,
): PriceBound {
  const parts = partsToBound(context, placed);
  const forced = forcedByTopology(context, parts);
  if (offersOf(context, parts) > mostOffers) return { bound: 0, parts, forced };
  const problem = { parts, forced, mostNodes };
  const choices = new Choices((pinned) => marketProblem(context, problem, pinned), forced.together, {
    units,
    packed: contentsOf(parts, claims),
    otherBound,
  });
  choices.decide(price);
  for (const { group } of forced.together.slice(0, choices.rulesDecided)) forced.counted.add(group);
  return { bound: Math.max(0, choices.bound), parts, forced };
}

function offersOf({ compiled }: BoundContext, parts: readonly Part[]): number {
  const used = new Set(parts.flatMap(({ profiles }) => profiles));
  return [...used].reduce((sum, profile) => sum + compiled.offers.of(profile).rows.length, 0);
}

/** The contents of the plan's new nodes, by part. */
function contentsOf(parts: readonly Part[], claims: readonly Placed[]): Content[] {
  const partOf = new Map<PodClass, Map<Level, number>>();
  parts.forEach(({ members }, part) => {
    for (const { podClass, level } of members) {
      const byLevel = partOf.get(podClass) ?? new Map<Level, number>();
      partOf.set(podClass, byLevel.set(level, part));
    }
  });
  return claims.map((claim) => {
    const content = new Map<number, number>();
    for (const [{ podClass, level }, pods] of claim) {
      const part = partOf.get(podClass)!.get(level)!;
      content.set(part, parts[part]!.together ? 1 : (content.get(part) ?? 0) + pods);
    }
    return content;
  });
}
